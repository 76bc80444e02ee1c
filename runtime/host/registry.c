// DATA/apps.list: which apps a host has, so that it comes up with them again. A text that a person can read and mend:
//
//   aup apps 1
//   shop running
//   till stopped
//   diary asleep 1791104400000000      (asleep when the host ended; the moment it has something to do by itself, or 0)
//   end
//
// It is written whole and put there by a rename; "end" tells a whole one from one that was cut by other means. "asleep" stands in
// it only between a host's end and its next start: it would be wrong as soon as the app wakes.
#include "runtime/base/mem.h"
#include "runtime/host/host_inner.h"
#include "runtime/store/file.h"

static const char NAME[] = "apps.list";
enum { REGISTRY_BYTES_MAX = 16 << 20 };

void registry__content(const Host *host, Buf *out) {
  int64_t now_us = clock_mono_us(clock_system()), wall_us = clock_wall_us(clock_system());
  bool ended = host->workers[0].ended;
  buf_add_text(out, "aup apps 1\n");
  for (uint32_t i = 0; i < host->app_count; i++) {
    const HostApp *app = host->apps[i];
    if (!app->is_listed) continue;
    int state = atomic_load_explicit(&app->state, memory_order_relaxed);
    if (state == APP_ASLEEP && ended) buf_add_format(out, "%s asleep %lld\n", app->name, app->due.running ? (long long)(wall_us + app->due.due_us - now_us) : 0);
    else buf_add_format(out, "%s %s\n", app->name, state == APP_STOPPED ? "stopped" : "running");
  }
  buf_add_text(out, "end\n");
}

Err registry__write(Host *host, Str content, ErrText *out_text) {
  if (host__keeps_nothing(host)) return ERR_NONE;
  FileSystem *fs = file_system_real();
  Dir *root;
  Err err = fs->dir_open(fs, NULL, host->options.data, true, &root);
  if (err == ERR_NONE) {
    err = file_replace(fs, root, NAME, content);
    fs->dir_close(fs, root);
  }
  return err == ERR_NONE ? ERR_NONE : err_say(err, out_text, "%s/%s cannot be written: %s", host->options.data, NAME, err_words(err));
}

// ---- reading --------------------------------------------------------------------------------------------

static Err read_bytes(Host *host, Buf *out, ErrText *out_text) {
  FileSystem *fs = file_system_real();
  Dir *root;
  File *file;
  uint64_t size = 0;
  Err err = fs->dir_open(fs, NULL, host->options.data, true, &root);
  if (err != ERR_NONE) return err_say(err, out_text, "data directory \"%s\" cannot be used: %s", host->options.data, err_words(err));
  err = fs->open(fs, root, NAME, FILE_READ, &file);
  if (err == ERR_NONE) {
    err = fs->size(fs, file, &size);
    if (err == ERR_NONE && size > REGISTRY_BYTES_MAX) err = ERR_LIMIT;
    char *room = err == ERR_NONE ? buf_room(out, size + 1) : NULL;
    if (err == ERR_NONE) err = room ? file_read_all(fs, file, 0, room, size) : ERR_MEMORY;
    if (err == ERR_NONE) out->len = size;
    fs->close(fs, file);
  }
  fs->dir_close(fs, root);
  if (err == ERR_NONE || err == ERR_NOT_FOUND) return ERR_NONE;
  return err_say(err, out_text, "%s/%s cannot be read: %s", host->options.data, NAME, err_words(err));
}

static bool next_line(Str *rest, Str *out_line) {
  const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
  if (!end) return false;
  *out_line = (Str){rest->ptr, (size_t)(end - rest->ptr)};
  *rest = str_part(*rest, out_line->len + 1, rest->len);
  return true;
}

static Str next_word(Str *line) {
  const char *space = line->len ? memchr(line->ptr, ' ', line->len) : NULL;
  Str word = {line->ptr, space ? (size_t)(space - line->ptr) : line->len};
  *line = space ? str_part(*line, word.len + 1, line->len) : (Str){0};
  return word;
}

static bool read_moment(Str digits, int64_t *out_us) {
  *out_us = 0;
  for (size_t i = 0; i < digits.len; i++) {
    if (digits.ptr[i] < '0' || digits.ptr[i] > '9' || *out_us > INT64_MAX / 20) return false;
    *out_us = *out_us * 10 + (digits.ptr[i] - '0');
  }
  return digits.len > 0;
}

static Err add_line(Host *host, Str line, bool *out_sound, ErrText *out_text) {
  Str name = next_word(&line), state = next_word(&line);
  int64_t due_us = 0;
  *out_sound = host__name_fits(name) && !host__find(host, name);
  if (str_is(state, "asleep")) *out_sound = *out_sound && read_moment(next_word(&line), &due_us);
  else *out_sound = *out_sound && (str_is(state, "running") || str_is(state, "stopped"));
  if (!*out_sound || line.len) return *out_sound = false, ERR_NONE;
  HostApp *app = apps__new(host, name);
  if (!app) return err_say(ERR_MEMORY, out_text, "no memory for the list of apps");
  TRY(host__add(host, app, out_text));
  app->is_listed = true;
  if (str_is(state, "stopped")) atomic_store(&app->state, APP_STOPPED);
  else atomic_store(&app->state, str_is(state, "asleep") ? APP_ASLEEP : APP_OPENING);  // OPENING: host_add_deployed does
  if (!due_us) return ERR_NONE;
  int64_t wait_us = due_us - clock_wall_us(clock_system());
  loop_timer_start(app->home->loop, &app->due, loop_now_us(app->home->loop) + (wait_us > 0 ? wait_us : 0));
  return ERR_NONE;
}

Err registry__read(Host *host, ErrText *out_text) {
  if (host__keeps_nothing(host)) return ERR_NONE;
  Buf bytes;
  buf_init(&bytes, 0);
  Err err = read_bytes(host, &bytes, out_text);
  Str rest = buf_str(&bytes), line = {0};
  unsigned number = 1;
  bool sound = err == ERR_NONE && (rest.len == 0 || (next_line(&rest, &line) && str_is(line, "aup apps 1"))), ended = rest.len == 0 && !line.len;
  while (err == ERR_NONE && sound && !ended) {
    number++;
    sound = next_line(&rest, &line);
    ended = sound && str_is(line, "end");
    if (sound && !ended) err = add_line(host, line, &sound, out_text);
  }
  if (err == ERR_NONE && (!sound || rest.len)) {
    err = err_say(ERR_FORMAT, out_text, "%s/%s: line %u is not as it must be: mend it, or remove the file and deploy the apps again (their data stays)",
                  host->options.data, NAME, sound ? number + 1 : number);
  }
  buf_free(&bytes);
  return err;
}
