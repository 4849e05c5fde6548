// pack.h: records of one thread, made small. The bytes are drawn in pack.cpp; analysis/unpack.cpp turns them back.
//
// Room 2 (probe/). On the writer thread. Training repeats itself: a record mostly equals, but for its
// times, the one that followed when its predecessor was recorded the last time. So each record names another one of its
// block and says what differs, in one byte when nothing does. A block depends on no other: damage costs that block only.
#pragma once

#include "format/file.h"

namespace hostprobe::probe {

// What becomes of a block's records: PackedHead's first two numbers, and the bytes.
struct PackedRows {
  char* bytes;  // and at least 8 more that may be overwritten
  std::uint32_t size;
  std::uint32_t times_bytes;
  std::uint32_t rest_bytes;
};

// 0.7 MiB, of which a block touches what it needs. Records are not copied: until finish() they must stay where they are, as
// they were.
class Packer {
 public:
  void begin();
  // At most kPackedMost since begin().
  void add(const Record& record);
  std::uint32_t count() const { return count_; }
  // Valid until begin().
  PackedRows finish();

 private:
  struct Choice {
    const Record* reference;
    std::uint32_t index;
    std::uint32_t mask;
    unsigned differences;
  };

  std::uint32_t put_times(const Record& record);
  std::uint32_t put_other(const Record& record);
  Choice choose(const Record& record);
  void consider(const Record& record, std::uint32_t index, Choice& best) const;
  void put_differences(const Record& record, const Record& reference, std::uint32_t mask);
  void put_u16(std::uint32_t value);
  void put_number(std::uint64_t value);

  // Where a record of the same kind may be found: positions in the block, or anything.
  static constexpr unsigned kTableBits = 12;
  std::uint32_t count_;
  std::uint32_t next_;  // the record after the previous one's reference
  std::uint64_t previous_end_ticks_;
  std::uint8_t* times_end_;
  std::uint8_t* rest_end_;
  std::uint16_t after_others_[1u << kTableBits];  // by what it is and what the two before it were
  std::uint16_t by_object_[1u << kTableBits];     // by hook and first word
  std::uint16_t by_hook_[256];
  const Record* records_[kPackedMost];
  // One behind the other, because finish() closes the gaps between them. Three rows: what is alike compresses better
  // side by side.
  struct {
    std::uint8_t heads[kPackedMost];
    std::uint8_t times[kPackedMost * kPackedTimesMost + 8];
    std::uint8_t rest[kPackedMost * kPackedRestMost];
  } rows_;
};

}  // namespace hostprobe::probe
