// An app under test: compiled from source, its data on the simulated disk, its time on a clock that the test moves.
#pragma once
#include "runtime/app/app.h"
#include "tests/unit/store/sim.h"

typedef struct Served {
  Sim *sim;
  ClockFake clock;
  App *app;
  AppSettings settings;  // of what is opened next
  uint32_t turns;  // that the last served_settle took
} Served;

static const int64_t SERVED_START_US = 1767261600000000;  // 2026-01-01T10:00:00Z

void served_new(Served *served);                            // a new disk, nothing opened
void served_open(Served *served, const char *source);       // a new disk
void served_open_again(Served *served, const char *source); // NULL: the module saved with the data
Err served_open_says(Served *served, const char *source, ErrText *out_text);
bool served_try_open(Served *served, const char *source);   // on a disk that may fail
void served_close(Served *served);
bool served_disk_holds(Served *served, const char *bytes, size_t len);  // some file does
void served_free(Served *served);                           // after served_close
// The process dies and another opens the data.
void served_kill(Served *served);
Err served_swap(Served *served, const char *source, ErrText *out_text);
// Turns until nothing is due and everything is saved; at most `most` of them.
void served_settle(Served *served, uint32_t most);
// Moves both clocks and settles.
void served_advance(Served *served, int64_t by_us);
// Posts an input with a JSON object; the kind of its outcome.
AppOutcomeKind served_input(Served *served, const char *name, const char *args);
// The same with all of its answer. `subject` NULL: nobody.
typedef struct Posted { AppOutcomeKind kind; uint16_t status; uint64_t commit; char code[40], body[400]; } Posted;
Posted served_post(Served *served, const char *subject, const char *name, const char *args);
int64_t served_number(Served *served, const char *view);    // of a view that is an int
