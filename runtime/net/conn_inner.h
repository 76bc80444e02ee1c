// Inside the net room: what a connection and its server are made of. conn.c makes, times and ends connections, conn_read.c
// turns bytes into requests, conn_write.c turns answers into bytes.
//
// Owns:   see conn.h.
// Thread: the loop's.
#pragma once
#include "runtime/net/conn.h"
#include "runtime/net/http_write.h"

#ifdef AUP_HOSTILE  // so small that every path which a limit opens is taken by ordinary conversations
enum { CONN_SPARE_MAX = 1, CONN_IN_BYTES_FIRST = 8, CONN_FLUSH_BYTES = 32, CONN_GATHER_BODY_BYTES_MAX = 3, CONN_OUT_BYTES_KEPT = 64 };
#else
enum {
  CONN_SPARE_MAX = 256,                    // closed connections kept for the next
  CONN_IN_BYTES_FIRST = 2048,              // of a connection's own buffer
  CONN_FLUSH_BYTES = 64 * 1024,            // gathered answers go out above it
  CONN_GATHER_BODY_BYTES_MAX = 16 * 1024,  // larger bodies are sent from where they are
  CONN_OUT_BYTES_KEPT = 256 * 1024,        // a larger gathering buffer is given back
};
#endif

typedef enum ConnState {
  CONN_READING,    // between requests, or in the middle of one
  CONN_WAITING,    // until conn_resume
  CONN_HANDLING,   // a request is in the hands of the room above
  CONN_STREAMING,
  CONN_ENDING,     // the last bytes are going out
  CONN_LINGERING,  // they are; the client may still be sending, and a close now would reset what it has not read
  CONN_DYING,      // closed; waits for its operations to be done
} ConnState;

typedef enum ConnPhase { PHASE_IDLE, PHASE_HEAD, PHASE_BODY } ConnPhase;  // of READING, for its deadline

typedef struct ConnExtra { uint32_t note_len, headers_len; char bytes[]; } ConnExtra;

struct Conn {
  LoopSocket socket;
  LoopOp recv, send, close;
  LoopTimer timer;            // fires at or before deadline_us, and is moved only then
  ConnServer *server;
  Conn *next, *previous;      // all open connections
  void *user;
  int64_t deadline_us;        // INT64_MAX: none
  char *in;                   // bytes that wait, beginning with an unfinished or unasked request; NULL when there are none
  uint32_t in_len, in_cap;
  uint32_t head_bytes;        // of the unfinished request when its head is read, else 0
  uint32_t body_wanted, body_len, body_max;
  HttpChunks chunks;
  struct iovec iov[3];        // what is being sent
  RefBuf *hold;               // keeps its bytes
  RefBuf *queued;             // an answer, or the head of a stream, that waits behind it
  RefBuf *next_event;         // then the newest event
  uint32_t progress;          // bytes taken since the deadline was set
  char chunk_head[12];
  uint8_t iov_at, iov_count, state, phase;
  void *where;                // for on_moved
  void *label;                // of the request in hand
  ConnExtra *extra;           // of the request in hand, or NULL
  uint32_t asked_us;          // when it was whole; the low bits
  uint8_t kind;               // of label
  uint8_t moves;              // for the request that is being read
  bool moving;                // to on_moved, when all answers are out
  bool chunked, keep_alive, head_only, old, in_callback, unanswered, linger, served, ending_stream;
};
// 10,000 connections that wait cost at most 0.5 KiB each, the allocator's 16 bytes included.
_Static_assert(sizeof(Conn) <= 496, "a connection that waits");

typedef struct ConnListener { LoopSocket socket; LoopOp accept, close; ConnServer *server; } ConnListener;

struct ConnServer {
  Loop *loop;
  ConnSettings settings;
  ConnEvents events;
  ConnListener listeners[CONN_LISTENERS_MAX];
  unsigned listener_count, listeners_open;
  Conn *open;
  Conn *spare;                // closed ones kept for the next, through `next`
  unsigned spare_count;
  Conn *gathering;            // whose answers are in `out`
  Buf out;                    // answers of one connection that go out together
  HttpRequest request;        // the one being read or handled
  HttpDate date;
  ConnStats stats;
  LoopTimer retry;            // accepting again after a pause
  LoopTimer stop_timer;
  bool paused, stopping;
  int64_t warned_us;
  void (*on_stopped)(void *ctx);
  void *stopped_ctx;
};

// conn.c
void conn__die(Conn *conn);                                // once or more; memory goes when its operations are done
void conn__move_away(Conn *conn, void *where);             // READING, nothing pending, all bytes in its own buffer
void conn__set_deadline(Conn *conn, int64_t due_us);       // INT64_MAX: none
void conn__set_timeout(Conn *conn, uint32_t timeout_ms);
void conn__begin_counting(Conn *conn);                     // a request is whole, or refused

// conn_read.c
void conn__read_on(Conn *conn);                            // READING and nothing left to send: goes on with what waits
void conn__linger(Conn *conn);
void conn__refuse(Conn *conn, HttpRefusal refusal);        // answers and ends

// conn_write.c
void conn__gather(Conn *conn, Str bytes);                  // to be sent by conn__flush
void conn__flush(Conn *conn);
void conn__send_event(Conn *conn, RefBuf *event);          // takes the hold; nothing is being sent
void conn__drained(Conn *conn);                            // nothing is being sent any more
void conn__sent(LoopOp *op, int32_t result);
