// The fixed parts of the log as bytes: the first block of a segment and the head of a record. Little-endian.
//
//   segment:  0 magic "AUPLOG\r\n" · 8 u32 version · 12 u32 0 · 16 id of the store · 32 key of its checksums ·
//             48 u64 number of the first record · 56 u64 bytes set aside when it was made · 64 u64 checksum of the record
//             before the first · 72 zeros · 504 u64 checksum of the 504 bytes before
//   record:   0 u32 magic · 4 u8 kind · 5 zeros · 8 u64 bytes of the body · 16 u64 number · 24 u64 offset in the file ·
//             32 u64 bytes of the file set aside · 40 u64 checksum of the record before · 48 u64 checksum of the body ·
//             56 u64 checksum of the 56 bytes before · 64 the body, then zeros up to a multiple of 512
//
// Checksums are keyed with the segment's random key, so that a stored text cannot pass for a record. A record says where
// it stands and what came before it, so that no block of another place, file or time passes for it.
//
// Owns:   nothing.
// Thread: any.
// Errors: false: not such a head (cut, flipped, of another kind).
#pragma once
#include "runtime/store/log.h"

static const char SEGMENT_MAGIC[8] = {'A', 'U', 'P', 'L', 'O', 'G', '\r', '\n'};
static const uint32_t RECORD_MAGIC = 0x52505541;  // "AUPR"

typedef struct SegmentHeader { uint32_t version; bool sound; LogId id; ChecksumKey key; uint64_t first, reserved, predecessor; } SegmentHeader;
typedef struct RecordHeader { LogKind kind; uint64_t body_bytes, number, offset, reserved, predecessor, body_sum, sum; } RecordHeader;

void segment_header_write(const SegmentHeader *header, uint8_t out_block[LOG_BLOCK_BYTES]);
// `version` is filled whenever the magic is right, so that a newer version can be named; all the rest, with `sound`, when the
// checksum is right too. True: it is sound and of the version that this program reads.
bool segment_header_read(const uint8_t block[LOG_BLOCK_BYTES], SegmentHeader *out_header);
void record_header_write(RecordHeader *header, const ChecksumKey *key, uint8_t out_head[LOG_RECORD_HEADER_BYTES]);
bool record_header_read(const uint8_t head[LOG_RECORD_HEADER_BYTES], const ChecksumKey *key, RecordHeader *out_header);

void log__name(uint64_t first, char out_name[32]);
