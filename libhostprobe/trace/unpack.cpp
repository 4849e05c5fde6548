// unpack.cpp: see unpack.h.
#include "unpack.h"

#include <zstd.h>

#include <cstring>
#include <memory>

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kPostTicksMask = (std::uint64_t{1} << (64 - kPostTidBits)) - 1;

std::uint64_t from_zigzag(std::uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

// One of the three rows. It looks at its end once per record, not once per byte: behind the rows stand as many bytes as
// a record can take of them, and a number is read with the eight bytes from its begin on.
constexpr std::size_t kSlackBytes = 128;

class PackedRow {
 public:
  PackedRow(const std::uint8_t* begin, std::size_t bytes) : at_(begin), end_(begin + bytes) {}

  std::uint64_t fixed(unsigned bytes) {
    std::uint64_t value;
    std::memcpy(&value, at_, sizeof(value));
    at_ += bytes;
    return value & kMasks[bytes];
  }
  // One that has no end after ten bytes ends there: only damage makes such.
  std::uint64_t number() {
    std::uint64_t value = *at_ & 127;
    for (unsigned shift = 7; *at_++ >= 128 && shift < 70; shift += 7)
      value |= std::uint64_t{*at_ & 127u} << (shift & 63);
    return value;
  }
  std::uint64_t change() { return from_zigzag(number()); }
  bool sound() const { return at_ <= end_; }
  bool used_up() const { return at_ == end_; }

 private:
  static constexpr std::uint64_t kMasks[] = {
      0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff, UINT64_MAX};

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

class Unpacker {
 public:
  // Behind the rows stand kSlackBytes more.
  Unpacker(const std::uint8_t* bytes, const PackedHead& head, std::uint32_t count, Record* out)
      : heads_(bytes),
        times_(bytes + count, head.times_bytes),
        rest_(bytes + count + head.times_bytes, head.rest_bytes),
        out_(out) {}

  bool all(std::uint32_t count) {
    if (count != 0 && (heads_[0] & 3) != 3) return false;  // the first record has none before it
    while (done_ < count) {
      if (done_ != 0) repeat(count);
      if (done_ < count && !one(heads_[done_], out_[done_])) return false;
      ++done_;
    }
    return times_.used_up() && rest_.used_up();
  }

 private:
  // Nearly all are of mode 0: the same as an earlier one but for its times. What they need is kept in registers for as long as they
  // follow each other, up to where a row ends.
  void repeat(std::uint32_t count) {
    const std::uint8_t* heads = heads_ + done_;
    const Record* from = out_ + next_;
    Record* to = out_ + done_;
    const Record* const end = out_ + count;
    PackedRow times = times_;
    std::uint64_t ticks = previous_end_ticks_;
    for (; to != end && (*heads & 3) == 0 && times.sound(); ++to, ++from, ++heads) {
      *to = *from;
      to->begin_ticks = ticks += from_zigzag(times.fixed(kTimeBytes[*heads >> 2 & 7]));
      to->end_ticks = ticks += times.fixed(kTimeBytes[*heads >> 5]);
    }
    const auto done = static_cast<std::uint32_t>(to - (out_ + done_));
    done_ += done;
    next_ += done;
    times_ = times;
    previous_end_ticks_ = ticks;
  }

  bool one(unsigned head, Record& record) {
    const unsigned mode = head & 3;
    if (mode >= 2 && !find_reference(mode, record)) return false;
    // Behind the first record `next_` is always one that is done.
    if (mode != 3) record = out_[next_++];
    const unsigned gap = head >> 2 & 7, duration = head >> 5;
    record.begin_ticks = previous_end_ticks_ + from_zigzag(times_.fixed(kTimeBytes[gap]));
    record.end_ticks = previous_end_ticks_ = record.begin_ticks + times_.fixed(kTimeBytes[duration]);
    if (mode != 0 && !change(record)) return false;
    return times_.sound();
  }

  bool find_reference(unsigned mode, Record& record) {
    const auto number = static_cast<std::uint16_t>(rest_.fixed(2));
    if (mode == 3) {
      record = Record{};
      record.hook = number;
      return number != 0;
    }
    next_ = done_ - number;
    return number != 0 && number <= done_;
  }

  bool change(Record& record) {
    const auto mask = static_cast<unsigned>(rest_.fixed(1));
    if ((mask & 1) != 0) record.a += rest_.change();
    change_b(record, mask);
    if ((mask & 4) != 0) record.c += rest_.change();
    if ((mask & 8) != 0) record.d += rest_.change();
    if ((mask & 16) != 0) record.e += rest_.change();
    if ((mask & 32) != 0) record.flags = static_cast<std::uint16_t>(rest_.fixed(2));
    if ((mask & 64) != 0) record.stack = static_cast<std::uint16_t>(rest_.fixed(2));
    return rest_.sound();
  }

  void change_b(Record& record, unsigned mask) {
    if ((mask & 130) == 130) {
      const std::uint64_t ticks = (record.end_ticks - rest_.number()) & kPostTicksMask;
      const std::uint64_t tid = (record.b & kPostTidMask) + rest_.change();
      record.b = ticks << kPostTidBits | (tid & kPostTidMask);
    } else if ((mask & 128) != 0) {
      record.b = 0;
    } else if ((mask & 2) != 0) {
      record.b += rest_.change();
    }
  }

  static constexpr std::uint8_t kTimeBytes[] = {0, 1, 2, 3, 4, 5, 6, 8};

  const std::uint8_t* const heads_;
  PackedRow times_, rest_;
  Record* const out_;
  std::uint32_t done_ = 0;
  std::uint32_t next_ = 0;
  std::uint64_t previous_end_ticks_ = 0;
};

// False: they contradict the room they have.
bool head_of(const std::byte* bytes, std::size_t size, std::uint32_t count, PackedHead& head) {
  if (size < sizeof(head)) return false;
  std::memcpy(&head, bytes, sizeof(head));
  return count <= kPackedMost && head.stored_bytes <= size - sizeof(head) &&
         head.times_bytes <= count * kPackedTimesMost && head.rest_bytes <= count * kPackedRestMost;
}

std::size_t rows_bytes(const PackedHead& head, std::uint32_t count) {
  return std::size_t{count} + head.times_bytes + head.rest_bytes;
}

// Of each thread, because making one costs as much as it takes to expand a small block.
ZSTD_DCtx* expander() {
  struct Free {
    void operator()(ZSTD_DCtx* one) const { ZSTD_freeDCtx(one); }
  };
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> own(ZSTD_createDCtx());
  return own.get();
}

bool expand(const std::byte* bytes, const PackedHead& head, std::size_t whole, std::uint8_t* rows) {
  const std::byte* stored = bytes + sizeof(head);
  if (head.codec == kCodecZstd) return ZSTD_decompressDCtx(expander(), rows, whole, stored, head.stored_bytes) == whole;
  if (head.codec != kCodecNone || head.stored_bytes != whole) return false;
  if (whole != 0) std::memcpy(rows, stored, whole);
  return true;
}

bool take_apart(const std::uint8_t* rows, const PackedHead& head, std::uint32_t count, Records& out) {
  const std::size_t before = out.size();
  out.resize(before + count);
  if (Unpacker(rows, head, count, out.data() + before).all(count)) return true;
  out.resize(before);
  return false;
}

}  // namespace

bool unpack(const std::byte* bytes, std::size_t size, std::uint32_t count, Records& out, const std::uint8_t* expanded) {
  PackedHead head;
  if (!head_of(bytes, size, count, head)) return false;
  if (expanded != nullptr) return take_apart(expanded, head, count, out);
  thread_local std::vector<std::uint8_t> rows;
  const std::size_t whole = rows_bytes(head, count);
  rows.resize(whole + kSlackBytes);
  return expand(bytes, head, whole, rows.data()) && take_apart(rows.data(), head, count, out);
}

std::optional<HeldBytes> expanded_rows(const std::byte* bytes, std::size_t size, std::uint32_t count,
                                       MemoryBudget& budget) {
  PackedHead head;
  if (!head_of(bytes, size, count, head) || head.codec != kCodecZstd) return std::nullopt;
  const std::size_t whole = rows_bytes(head, count), all = whole + kSlackBytes;
  if (!budget.take_spare(all)) return std::nullopt;
  HeldBytes held(budget, all);
  if (!expand(bytes, head, whole, held.get())) return std::nullopt;
  return held;
}

}  // namespace hostprobe::analysis
