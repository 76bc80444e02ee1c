// Numbers are put and taken one by one, so that the format is what the header says and not how a compiler lays out a
// struct. Whoever reads checks the checksum first and only then believes a field.
#include "runtime/store/log_format.h"

#include <string.h>

#include "runtime/store/bytes.h"

void segment_header_write(const SegmentHeader *header, uint8_t out_block[LOG_BLOCK_BYTES]) {
  memset(out_block, 0, LOG_BLOCK_BYTES);
  memcpy(out_block, SEGMENT_MAGIC, 8);
  put_u32(out_block + 8, LOG_VERSION);
  memcpy(out_block + 16, header->id.bytes, LOG_ID_BYTES);
  memcpy(out_block + 32, header->key.bytes, CHECKSUM_KEY_BYTES);
  put_u64(out_block + 48, header->first);
  put_u64(out_block + 56, header->reserved);
  put_u64(out_block + 64, header->predecessor);
  put_u64(out_block + 504, checksum(&header->key, out_block, 504));
}

bool segment_header_read(const uint8_t block[LOG_BLOCK_BYTES], SegmentHeader *out_header) {
  SegmentHeader header = {0};
  *out_header = header;
  if (memcmp(block, SEGMENT_MAGIC, 8) != 0) return false;
  out_header->version = header.version = get_u32(block + 8);
  memcpy(header.id.bytes, block + 16, LOG_ID_BYTES);
  memcpy(header.key.bytes, block + 32, CHECKSUM_KEY_BYTES);
  header.first = get_u64(block + 48);
  header.reserved = get_u64(block + 56);
  header.predecessor = get_u64(block + 64);
  if (get_u64(block + 504) != checksum(&header.key, block, 504)) return false;
  header.sound = true;
  *out_header = header;
  return header.version == LOG_VERSION;
}

void record_header_write(RecordHeader *header, const ChecksumKey *key, uint8_t out_head[LOG_RECORD_HEADER_BYTES]) {
  memset(out_head, 0, LOG_RECORD_HEADER_BYTES);
  put_u32(out_head, RECORD_MAGIC);
  out_head[4] = (uint8_t)header->kind;
  put_u64(out_head + 8, header->body_bytes);
  put_u64(out_head + 16, header->number);
  put_u64(out_head + 24, header->offset);
  put_u64(out_head + 32, header->reserved);
  put_u64(out_head + 40, header->predecessor);
  put_u64(out_head + 48, header->body_sum);
  header->sum = checksum(key, out_head, 56);
  put_u64(out_head + 56, header->sum);
}

bool record_header_read(const uint8_t head[LOG_RECORD_HEADER_BYTES], const ChecksumKey *key, RecordHeader *out_header) {
  if (get_u32(head) != RECORD_MAGIC) return false;
  uint64_t sum = get_u64(head + 56);
  if (sum != checksum(key, head, 56)) return false;
  *out_header = (RecordHeader){
    .kind = (LogKind)head[4], .body_bytes = get_u64(head + 8), .number = get_u64(head + 16), .offset = get_u64(head + 24), .reserved = get_u64(head + 32),
    .predecessor = get_u64(head + 40), .body_sum = get_u64(head + 48), .sum = sum};
  return true;
}
