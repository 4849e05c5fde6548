// unpack.cpp: see unpack.h.
#include "unpack.h"

#include <zstd.h>

#include <cstring>

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kPostTicksMask = (std::uint64_t{1} << (64 - kPostTidBits)) - 1;

std::uint64_t from_zigzag(std::uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

// One of the three rows. Past its end everything reads as 0 and `sound` is false.
class Row {
 public:
  Row(const std::uint8_t* begin, std::size_t bytes) : at_(begin), end_(begin + bytes) {}

  std::uint64_t fixed(unsigned bytes) {
    std::uint64_t value = 0;
    if (static_cast<std::size_t>(end_ - at_) < bytes) {
      sound_ = false;
    } else if (bytes != 0) {
      std::memcpy(&value, at_, bytes);
      at_ += bytes;
    }
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && sound_; shift += 7) {
      const std::uint64_t byte = fixed(1);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    sound_ = false;
    return 0;
  }
  std::uint64_t change() { return from_zigzag(number()); }
  bool sound() const { return sound_; }
  bool used_up() const { return sound_ && at_ == end_; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* const end_;
  bool sound_ = true;
};

class Unpacker {
 public:
  Unpacker(const std::uint8_t* bytes, const PackedHead& head, std::uint32_t count, Record* out)
      : heads_(bytes, count),
        times_(bytes + count, head.times_bytes),
        rest_(bytes + count + head.times_bytes, head.rest_bytes),
        out_(out) {}

  bool all(std::uint32_t count) {
    while (done_ < count && one()) ++done_;
    return done_ == count && times_.used_up() && rest_.used_up();
  }

 private:
  bool one() {
    const auto head = static_cast<unsigned>(heads_.fixed(1));
    Record& record = out_[done_];
    if (!begin_with_reference(head & 3, record)) return false;
    const unsigned gap = head >> 2 & 7, duration = head >> 5;
    record.begin_ticks = previous_end_ticks_ + from_zigzag(times_.fixed(gap + gap / 7));
    record.end_ticks = record.begin_ticks + times_.fixed(duration + duration / 7);
    previous_end_ticks_ = record.end_ticks;
    if ((head & 3) != 0) change(record);
    return times_.sound() && rest_.sound();
  }

  bool begin_with_reference(unsigned mode, Record& record) {
    record = Record{};
    if (mode == 3) {
      record.hook = static_cast<std::uint16_t>(rest_.fixed(2));
      return record.hook != 0;
    }
    if (mode == 2) {
      const auto distance = static_cast<std::uint32_t>(rest_.fixed(2));
      if (distance == 0 || distance > done_) return false;
      next_ = done_ - distance;
    }
    if (next_ >= done_) return false;  // the first record has none before it
    record = out_[next_++];
    return true;
  }

  void change(Record& record) {
    const auto mask = static_cast<unsigned>(rest_.fixed(1));
    if ((mask & 1) != 0) record.a += rest_.change();
    change_b(record, mask);
    if ((mask & 4) != 0) record.c += rest_.change();
    if ((mask & 8) != 0) record.d += rest_.change();
    if ((mask & 16) != 0) record.e += rest_.change();
    if ((mask & 32) != 0) record.flags = static_cast<std::uint16_t>(rest_.fixed(2));
    if ((mask & 64) != 0) record.stack = static_cast<std::uint16_t>(rest_.fixed(2));
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

  Row heads_, times_, rest_;
  Record* out_;
  std::uint32_t done_ = 0;
  std::uint32_t next_ = 0;
  std::uint64_t previous_end_ticks_ = 0;
};

}  // namespace

bool unpack(const std::byte* bytes, std::size_t size, std::uint32_t count, std::vector<Record>& out) {
  PackedHead head;
  if (size < sizeof(head)) return false;
  std::memcpy(&head, bytes, sizeof(head));
  if (count > kPackedMost || head.stored_bytes > size - sizeof(head) || head.times_bytes > count * kPackedTimesMost ||
      head.rest_bytes > count * kPackedRestMost) {
    return false;
  }
  const std::size_t whole = std::size_t{count} + head.times_bytes + head.rest_bytes;
  const auto* rows = reinterpret_cast<const std::uint8_t*>(bytes + sizeof(head));
  std::vector<std::uint8_t> expanded;
  if (head.codec == kCodecZstd) {
    expanded.resize(whole);
    if (ZSTD_decompress(expanded.data(), whole, rows, head.stored_bytes) != whole) return false;
    rows = expanded.data();
  } else if (head.codec != kCodecNone || head.stored_bytes != whole) {
    return false;
  }
  const std::size_t before = out.size();
  out.resize(before + count);
  if (Unpacker(rows, head, count, out.data() + before).all(count)) return true;
  out.resize(before);
  return false;
}

}  // namespace hostprobe::analysis
