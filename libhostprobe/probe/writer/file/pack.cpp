// pack.cpp: see pack.h. About 30 instructions for a record that repeats, some 150 for another one; no table is as large as
// the level-2 cache.
//
//   heads  a byte per record   | mode 2 bits | length of gap 3 | length of duration 3 |   lengths 0 1 2 3 4 5 6 8
//   times  gap, duration       the begin less the previous record's end (zigzag), the end less the begin
//   rest   nothing for mode 0; else  | distance u16 (mode 2) or hook u16 (mode 3) | mask u8 | differences … |
//
//   mode 0  but for the times, equal to the record after the previous record's reference
//   mode 1  differs from that one as the mask says
//   mode 2  differs as the mask says from the record `distance` before it
//   mode 3  differs from a record of zeros with this hook; the next record's mode 0 and 1 mean what this one's would have
//
//   mask    bit 0–4 a … e differ · bit 5 flags · bit 6 stack · bit 7 with bit 1: b is a post · bit 7 alone: b is 0
//   differences  a … e: zigzag(own − reference's), 7 bits a byte, lowest first, top bit = more follows. A post instead: the
//                low 42 bits of (end − post's ticks), then zigzag of the thread ids' difference. Then flags, stack: u16
//
// Worked example: three launches, begin/end 1000/1300, 1400/1650, 1800/2100; hook 5; a = 7, 9, 9, the other words 0.
//   1st  mode 3; gap zigzag(1000) = 2000, 2 bytes; duration 300, 2 bytes       heads 53   times d0 07 2c 01
//        hook 5, mask 01, a: zigzag(7) = 14                                                rest 05 00 01 0e
//   2nd  mode 1, reference the 1st; gap zigzag(100) = 200; duration 250         heads 25   times c8 fa
//        mask 01, a: zigzag(2) = 4                                                         rest 01 04
//   3rd  mode 0? The reference is the 2nd, and equal; gap 300, duration 300     heads 48   times 2c 01 2c 01
//   (gap zigzag(150) = 300). In all 3 + 10 + 6 bytes instead of 192.
#include "probe/writer/file/pack.h"

#include <string.h>

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kLapBits = std::uint64_t{0xffff} << 16;
constexpr std::uint64_t kPostTicksMask = (std::uint64_t{1} << (64 - kPostTidBits)) - 1;
constexpr std::uint64_t kPostMostLag = std::uint64_t{1} << 35;    // 5 bytes; a later waker is coded like any word
constexpr std::uint64_t kPostLeastGain = std::uint64_t{1} << 42;  // from 7 bytes on

std::uint64_t zigzag(std::uint64_t value) { return value << 1 ^ (0 - (value >> 63)); }

// Hook, lap, flags and stack as one word.
std::uint64_t tags(const Record& record) {
  std::uint64_t word;
  memcpy(&word, &record.hook, sizeof word);
  return word;
}

bool equal_but_times(const Record& l, const Record& r) {
  return (((tags(l) ^ tags(r)) & ~kLapBits) | (l.a ^ r.a) | (l.b ^ r.b) | (l.c ^ r.c) | (l.d ^ r.d) | (l.e ^ r.e)) == 0;
}

std::uint32_t differences(const Record& l, const Record& r) {
  return std::uint32_t{l.a != r.a} | std::uint32_t{l.b != r.b} << 1 | std::uint32_t{l.c != r.c} << 2 |
         std::uint32_t{l.d != r.d} << 3 | std::uint32_t{l.e != r.e} << 4 | std::uint32_t{l.flags != r.flags} << 5 |
         std::uint32_t{l.stack != r.stack} << 6;
}

// Of 7 bits; the CPU's own instruction for it may be missing.
unsigned bits_in(std::uint32_t mask) {
  mask = (mask & 0x55) + (mask >> 1 & 0x55);
  mask = (mask & 0x33) + (mask >> 2 & 0x33);
  return (mask & 0xf) + (mask >> 4);
}

// Code of the least length that holds the value; 7 bytes count as 8.
unsigned length_code(std::uint64_t value) {
  unsigned bytes = value == 0 ? 0 : (71 - static_cast<unsigned>(__builtin_clzll(value))) / 8;
  return bytes < 7 ? bytes : 7;
}

std::uint64_t mix(std::uint64_t value) { return value * 0x9e3779b97f4a7c15u; }

std::uint64_t kind_of(const Record& record) { return mix(record.a + record.hook) ^ record.hook; }

}  // namespace

void Packer::begin() {
  count_ = next_ = 0;
  previous_end_ticks_ = 0;
  times_end_ = rows_.times;
  rest_end_ = rows_.rest;
  memset(after_others_, 0, sizeof after_others_);
  memset(by_object_, 0, sizeof by_object_);
  memset(by_hook_, 0, sizeof by_hook_);
}

void Packer::add(const Record& record) {
  records_[count_] = &record;
  std::uint32_t lengths = put_times(record);
  std::uint32_t mode = 0;
  if (count_ != 0 && equal_but_times(record, *records_[next_]))
    ++next_;
  else
    mode = put_other(record);
  rows_.heads[count_++] = static_cast<std::uint8_t>(mode | lengths);
}

// The head byte but for its mode.
std::uint32_t Packer::put_times(const Record& record) {
  std::uint64_t gap = zigzag(record.begin_ticks - previous_end_ticks_);
  std::uint64_t duration = record.end_ticks - record.begin_ticks;
  unsigned gap_code = length_code(gap), duration_code = length_code(duration);
  memcpy(times_end_, &gap, 8);
  times_end_ += gap_code + gap_code / 7;
  memcpy(times_end_, &duration, 8);
  times_end_ += duration_code + duration_code / 7;
  previous_end_ticks_ = record.end_ticks;
  return gap_code << 2 | duration_code << 5;
}

void Packer::consider(const Record& record, std::uint32_t index, Choice& best) const {
  if (index >= count_ || records_[index]->hook != record.hook) return;
  std::uint32_t mask = differences(record, *records_[index]);
  unsigned differing = bits_in(mask);
  if (differing < best.differences) best = {records_[index], index, mask, differing};
}

// Looks no further once the same call on the same object differs in one word: a wait's waker, a running number.
Packer::Choice Packer::choose(const Record& record) {
  Choice best{nullptr, 0, 0, 8};
  consider(record, next_, best);
  if (best.differences <= 1 && (best.mask & 1) == 0) return best;
  std::uint64_t kind = kind_of(record);
  std::uint64_t before = count_ < 2 ? 0 : mix(kind_of(*records_[count_ - 1])) + kind_of(*records_[count_ - 2]);
  std::uint16_t& after_others = after_others_[mix(kind + mix(before)) >> (64 - kTableBits)];
  std::uint16_t& by_object = by_object_[mix(kind) >> (64 - kTableBits)];
  std::uint16_t& by_hook = by_hook_[record.hook & 0xff];
  consider(record, after_others, best);
  if (best.differences != 0) consider(record, by_object, best);
  if (best.differences > 1) consider(record, by_hook, best);
  after_others = by_object = by_hook = static_cast<std::uint16_t>(count_);
  return best;
}

// The mode.
std::uint32_t Packer::put_other(const Record& record) {
  Choice best = choose(record);
  if (best.reference == nullptr) {
    constexpr Record kZeros{};
    put_u16(record.hook);
    put_differences(record, kZeros, differences(record, kZeros));
    return 3;
  }
  bool follows = best.index == next_;
  if (!follows) put_u16(count_ - best.index);
  put_differences(record, *best.reference, best.mask);
  next_ = best.index + 1;
  return follows ? 1 : 2;
}

void Packer::put_differences(const Record& record, const Record& reference, std::uint32_t mask) {
  constexpr std::uint32_t kB = 2, kSpecialB = 128;
  std::uint64_t lag = (record.end_ticks - (record.b >> kPostTidBits)) & kPostTicksMask;
  std::uint64_t change = zigzag(record.b - reference.b);
  if ((mask & kB) != 0 && change >= kPostLeastGain) {
    if (record.b == 0)
      mask = (mask & ~kB) | kSpecialB;
    else if (lag < kPostMostLag)
      mask |= kSpecialB;
  }
  *rest_end_++ = static_cast<std::uint8_t>(mask);
  if ((mask & 1) != 0) put_number(zigzag(record.a - reference.a));
  if ((mask & (kB | kSpecialB)) == (kB | kSpecialB)) {
    put_number(lag);
    put_number(zigzag((record.b & kPostTidMask) - (reference.b & kPostTidMask)));
  } else if ((mask & kB) != 0) {
    put_number(change);
  }
  if ((mask & 4) != 0) put_number(zigzag(record.c - reference.c));
  if ((mask & 8) != 0) put_number(zigzag(record.d - reference.d));
  if ((mask & 16) != 0) put_number(zigzag(record.e - reference.e));
  if ((mask & 32) != 0) put_u16(record.flags);
  if ((mask & 64) != 0) put_u16(record.stack);
}

void Packer::put_u16(std::uint32_t value) {
  *rest_end_++ = static_cast<std::uint8_t>(value);
  *rest_end_++ = static_cast<std::uint8_t>(value >> 8);
}

void Packer::put_number(std::uint64_t value) {
  while (value >= 128) {
    *rest_end_++ = static_cast<std::uint8_t>(value | 128);
    value >>= 7;
  }
  *rest_end_++ = static_cast<std::uint8_t>(value);
}

PackedRows Packer::finish() {
  auto times = static_cast<std::uint32_t>(times_end_ - rows_.times);
  auto rest = static_cast<std::uint32_t>(rest_end_ - rows_.rest);
  auto* bytes = reinterpret_cast<char*>(&rows_);
  memmove(bytes + count_, rows_.times, times);
  memmove(bytes + count_ + times, rows_.rest, rest);
  return {bytes, count_ + times + rest, times, rest};
}

}  // namespace hostprobe::probe
