// Runs a command and prints its time, CPU and peak memory as JSON. A program of its own since the peak that wait4 tells of
// a child starts at what its parent held when it forked: beside a Python it would never be under 10 MiB.
// usage: measure COMMAND [ARGUMENT…]       (the command's output is thrown away)
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/lib/bench.h"

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

int main(int count, char **words) {
  if (count < 2) bench_fail("usage: measure COMMAND [ARGUMENT…]");
  uint64_t start = bench_now_ns();
  pid_t child = fork();
  if (child < 0) bench_fail("cannot start a process");
  if (child == 0) {
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execvp(words[1], words + 1);
    _exit(127);
  }
  int status;
  struct rusage used;
  if (wait4(child, &status, 0, &used) != child) bench_fail("wait4 failed");
  double wall_s = (double)(bench_now_ns() - start) / 1e9;
  printf("{\"status\":%d,\"wall_s\":%.6f,\"cpu_s\":%.6f,\"peak_kib\":%ld}\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128, wall_s,
         seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
  return 0;
}
