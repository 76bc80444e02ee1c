"""The floor of this machine: what system calls, loopback, threads, the memory and the disk cost, whatever program asks."""
import statistics

from harness import program, run_json, scratch


def main(run):
    for line in run_json([program("machine/costs")], core=None):
        run.add("costs", line["name"], ns=statistics.median(line["ns"]), best_ns=min(line["ns"]))
    run.show("costs", ["ns", "best_ns"], title="small things")
    for _ in range(min(run.rounds, 3)):
        for line in run_json([program("machine/disk"), scratch("machine"), min(1, run.seconds)], core=None):
            run.add("disk", line.pop("name"), **line)
    run.show("disk", ["rate", "p50_us", "p99_us", "max_us"], title="durable writes of one writer")
