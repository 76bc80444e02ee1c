// The threads of a store at work together: the owner applies and commits, a task syncs and sets space aside, and others read
// snapshots meanwhile; and of several stores that share the threads for that. A program without a test library, since Criterion cannot start under the
// thread sanitizer; what it checks itself holds in every build.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/store/world.h"

enum { COMMITS = 400, READERS = 2 };

static void must(bool holds, const char *what) {
  if (holds) return;
  printf("not ok 1 - %s\n", what);
  exit(1);
}

// One snapshot is handed to the readers at a time; the owner releases it when the last of them has said so.
typedef struct Board { pthread_mutex_t lock; pthread_cond_t changed; Snapshot *shown; int64_t rows; unsigned round, reading; bool over; } Board;

static void note_synced(void *context, uint64_t number, Err err) {
  atomic_uint_fast64_t *last = context;
  must(err == ERR_NONE, "a commit was not synced");
  must(number > atomic_load(last), "numbers go up");
  atomic_store(last, number);
}

static void read_all(const Snapshot *snapshot, int64_t rows) {
  const Reader *reader = snapshot_reader(snapshot);
  Arena arena;
  Cursor *cursor = NULL;
  Range all = {.table = 1, .index = 0};  // by text: texts lie in the pages' heaps
  int64_t count = 0;
  arena_init(&arena, 0);
  must(cursor_open(reader, &all, &arena, &cursor) == ERR_NONE, "a cursor opens");
  while (cursor_next(cursor)) {
    Value text;
    must(cursor_column(cursor, 1, &arena, &text) == ERR_NONE && str_starts(text.text, STR("input ")), "a row is whole");
    count++;
  }
  must(count == rows, "a snapshot holds the rows of its commit");
  arena_free(&arena);
}

static void *reader_thread(void *context) {
  Board *board = context;
  unsigned seen = 0;
  pthread_mutex_lock(&board->lock);
  for (;;) {
    while (board->round == seen && !board->over) pthread_cond_wait(&board->changed, &board->lock);
    if (board->over) break;
    seen = board->round;
    Snapshot *snapshot = board->shown;
    int64_t rows = board->rows;
    pthread_mutex_unlock(&board->lock);
    read_all(snapshot, rows);
    pthread_mutex_lock(&board->lock);
    board->reading--;
    pthread_cond_broadcast(&board->changed);
  }
  pthread_mutex_unlock(&board->lock);
  return NULL;
}

// Only the owner takes and releases.
static void show(Board *board, Db *db, int64_t rows) {
  pthread_mutex_lock(&board->lock);
  if (board->reading == 0) {
    if (board->shown) snapshot_release(board->shown);
    board->shown = db_snapshot_take(db);
    must(board->shown != NULL, "a snapshot is taken");
    board->rows = rows;
    board->reading = READERS;
    board->round++;
    pthread_cond_broadcast(&board->changed);
  }
  pthread_mutex_unlock(&board->lock);
}

static void stop(Board *board) {
  pthread_mutex_lock(&board->lock);
  while (board->reading) pthread_cond_wait(&board->changed, &board->lock);
  board->over = true;
  pthread_cond_broadcast(&board->changed);
  pthread_mutex_unlock(&board->lock);
}

static void insert(Txn *txn, int64_t id) {
  char text[64];
  int len = snprintf(text, sizeof text, "input %lld, a text that does not fit in place", (long long)id);
  Value row[2] = {{.i = id}, {.text = {text, (size_t)len}}};
  must(txn_insert(txn, 1, row) == ERR_NONE, "a row goes in");
}

static int64_t write_all(Store *store, Board *board) {
  ErrText text;
  int64_t id = 0, sealed = 0;
  for (int commits = 0; commits < COMMITS;) {
    uint64_t number;
    insert(db_txn(store_db(store)), ++id);
    Err err = store_commit(store, NULL, 0, &number, &text);
    must(err == ERR_NONE || err == ERR_AGAIN, "a commit is taken or waits");
    must(store_durable_number(store) <= store_info(store)->number, "nothing is durable before it was committed");
    if (err != ERR_NONE) continue;  // it goes with the next one
    commits++;
    sealed = id;
    show(board, store_db(store), sealed);
  }
  store_wait(store);
  must(store_durable_number(store) == store_info(store)->number, "the last commit is durable");
  return sealed;
}

// Looks at the store from outside while it is written, as the tools do: every look must find a whole state, none an older one.
typedef struct Looker { const StoreOptions *options; atomic_bool over; unsigned looks; } Looker;

static void *look(void *context) {
  Looker *looker = context;
  StoreOptions options = {.files = looker->options->files, .dir = looker->options->dir, .read_only = true};
  uint64_t last = 0;
  while (!atomic_load(&looker->over)) {
    Store *store;
    ErrText text = {{0}};
    Err err = store_open(&options, &store, &text);
    must(err == ERR_NONE, err == ERR_NONE ? "" : text.text);
    must(store_info(store)->number >= last, "a look finds what an earlier one found");
    last = store_info(store)->number;
    if (store_db(store)) must(reader_check(txn_reader(db_txn(store_db(store))), &text) == ERR_NONE, text.text);
    store_abandon(store);
    looker->looks++;
  }
  return NULL;
}

static void run(const StoreOptions *options) {
  Board board = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  pthread_t readers[READERS];
  Store *store;
  ErrText text;
  must(store_open(options, &store, &text) == ERR_NONE && world_set_schema(store, 1, &text) == ERR_NONE, "a store opens");
  for (int i = 0; i < READERS; i++) must(pthread_create(&readers[i], NULL, reader_thread, &board) == 0, "a thread starts");
  Looker looker = {.options = options};
  pthread_t outside;
  bool looks = options->checkpoint_bytes != 0;
  must(!looks || pthread_create(&outside, NULL, look, &looker) == 0, "a thread starts");
  int64_t sealed = write_all(store, &board);
  atomic_store(&looker.over, true);
  if (looks) pthread_join(outside, NULL);
  if (looks) printf("# %u looks from outside\n", looker.looks);
  stop(&board);
  for (int i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
  if (board.shown) snapshot_release(board.shown);
  txn_undo(db_txn(store_db(store)), (TxnMark){0});
  must(!options->checkpoint_bytes || store_info(store)->checkpoint > 0, "a checkpoint was made meanwhile");
  must(store_info(store)->checkpoint_err == ERR_NONE, "no checkpoint failed");
  must(store_close(store, &text) == ERR_NONE, "the store closes");
  must(store_open(options, &store, &text) == ERR_NONE, "the store opens again");
  must(reader_row_count(txn_reader(db_txn(store_db(store))), 1) == (uint64_t)sealed, "every row is there again");
  must(reader_check(txn_reader(db_txn(store_db(store))), &text) == ERR_NONE, "all rules hold");
  must(store_close(store, &text) == ERR_NONE, "the store closes again");
}

static void check_again(const StoreOptions *options, uint64_t rows) {
  Store *store;
  ErrText text;
  must(store_open(options, &store, &text) == ERR_NONE, "a store opens again");
  must(reader_row_count(txn_reader(db_txn(store_db(store))), 1) == rows, "every row is there again");
  must(reader_check(txn_reader(db_txn(store_db(store))), &text) == ERR_NONE, "all rules hold");
  must(store_close(store, &text) == ERR_NONE, "a store closes again");
}

// One owner, many stores, few threads; now and then the owner waits for the disk itself.
static void run_many(const char *root) {
  enum { STORES = 6, ROUNDS = 150 };
  TaskPool *syncs, *checkpoints;
  must(task_pool_new(3, true, &syncs) == ERR_NONE && task_pool_new(1, false, &checkpoints) == ERR_NONE, "pools are made");
  atomic_uint_fast64_t synced[STORES] = {0};
  char dirs[STORES][64];
  StoreOptions options[STORES];
  Store *stores[STORES];
  uint64_t sealed[STORES] = {0}, number;
  int64_t rows[STORES] = {0};
  ErrText text;
  for (int i = 0; i < STORES; i++) {
    snprintf(dirs[i], sizeof dirs[i], "%s/many%d", root, i);
    options[i] = (StoreOptions){.files = file_system_real(), .dir = dirs[i], .checkpoint_bytes = 16 << 10, .syncs = syncs, .checkpoints = checkpoints, .synced = note_synced, .context = &synced[i]};
    must(store_open(&options[i], &stores[i], &text) == ERR_NONE && world_set_schema(stores[i], 1, &text) == ERR_NONE, "a store opens");
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < STORES; i++) {
      bool is_inline = (round / 8 + i) % 4 == 0;
      store_sync_inline(stores[i], is_inline);
      insert(db_txn(store_db(stores[i])), ++rows[i]);
      Err err = store_commit(stores[i], NULL, 0, &number, &text);
      must(err == ERR_NONE || err == ERR_AGAIN, "a commit is taken or waits");
      if (err == ERR_NONE) sealed[i] = (uint64_t)rows[i];
    }
  }
  for (int i = 0; i < STORES; i++) {
    store_wait(stores[i]);
    must(store_durable_number(stores[i]) == store_info(stores[i])->number, "the last commit is durable");
    txn_undo(db_txn(store_db(stores[i])), (TxnMark){0});
    must(store_close(stores[i], &text) == ERR_NONE, "a store closes");
    check_again(&options[i], sealed[i]);
  }
  task_pool_free(syncs);
  task_pool_free(checkpoints);
}

int main(void) {
  Sim *sim = sim_new();
  char root[] = "/tmp/aup-race-XXXXXX", dir[64], command[64];
  atomic_uint_fast64_t last = 0;
  printf("1..3\n");
  run(&(StoreOptions){.files = sim_files(sim), .dir = WORLD_DIR, .segment_bytes = 96 << 10, .synced = note_synced, .context = &last});
  sim_free(sim);
  printf("ok 1 - %d commits beside %d readers\n", COMMITS, READERS);
  must(mkdtemp(root) != NULL, "a folder is made");
  snprintf(dir, sizeof dir, "%s/app", root);
  snprintf(command, sizeof command, "rm -r %s", root);
  atomic_store(&last, 0);
  run(&(StoreOptions){.files = file_system_real(), .dir = dir, .checkpoint_bytes = 16 << 10, .synced = note_synced, .context = &last});  // the sim is for one thread at a time
  printf("ok 2 - the same beside checkpoints\n");
  run_many(root);
  must(system(command) == 0, "the folder goes");
  printf("ok 3 - several stores share the threads\n");
  return 0;
}
