// unwind_bytes.h: reading unwind tables and stacks that may not be there, piece by piece.
//
// Room 2 (probe/). A return address found on a stack may be garbage, and garbage may
// point into an object that another thread is unloading: so every byte that a walk looks at was copied by the kernel first
// (safe_memory.h). Unit tests put another memory in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hostprobe::probe {

// The part of an object's mapping that a pc lies in.
struct CodeObject {
  std::uint64_t begin, end;
  std::uint64_t table;  // .eh_frame_hdr; 0: the object has none
};

// What a walk knows of the process. Both may be called with any address.
struct Surroundings {
  bool (*copy)(void* context, void* to, std::uint64_t from, std::size_t bytes);  // all of it or false
  bool (*find_object)(void* context, std::uint64_t address, CodeObject& object);
  void* context;
};

// The pieces of memory that were looked at last. They are aligned, so none reaches into a page that may be missing. Each costs
// a system call, whatever its size: header, table, description and what descriptions have in common stay at hand.
template <std::size_t size, unsigned pieces>
class Window {
  static_assert(size <= 4096 && (size & (size - 1)) == 0);

 public:
  void open(const Surroundings& around) {
    around_ = &around;
    next_ = 0;
    for (std::uint64_t& held : held_) held = kNothing;
  }
  bool read(void* to, std::uint64_t from, std::size_t bytes) {
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      const char* piece = find(from & ~(size - 1));
      if (piece == nullptr) return false;
      std::size_t offset = from & (size - 1), part = size - offset < bytes ? size - offset : bytes;
      memcpy(out, piece + offset, part);
      out += part, from += part, bytes -= part;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kNothing = 1;  // no piece begins there
  const char* find(std::uint64_t begin) {
    for (unsigned i = 0; i < pieces; ++i)
      if (held_[i] == begin) return bytes_[i];
    unsigned place = next_;
    next_ = (next_ + 1) % pieces;
    held_[place] = around_->copy(around_->context, bytes_[place], begin, size) ? begin : kNothing;
    return held_[place] == begin ? bytes_[place] : nullptr;
  }
  const Surroundings* around_;
  unsigned next_;
  std::uint64_t held_[pieces];
  alignas(8) char bytes_[pieces][size];
};
using TableWindow = Window<1024, 6>;
using StackWindow = Window<2048, 1>;

// Reads one thing after the other up to an end. Once something is missing or makes no sense everything is zero.
class Bytes {
 public:
  Bytes(TableWindow& window, std::uint64_t at, std::uint64_t end) : window_(window), at_(at), end_(end) {}
  bool failed() const { return failed_; }
  bool more() const { return !failed_ && at_ < end_; }
  std::uint64_t at() const { return at_; }
  std::uint64_t end() const { return end_; }

  template <class T>
  T next() {
    T value{};
    if (failed_ || end_ < at_ || end_ - at_ < sizeof value || !window_.read(&value, at_, sizeof value)) {
      failed_ = true;
      return T{};
    }
    at_ += sizeof value;
    return value;
  }
  void skip(std::uint64_t bytes) {
    if (failed_ || end_ < at_ || end_ - at_ < bytes)
      failed_ = true;
    else
      at_ += bytes;
  }
  // Backwards too, but never out of what it may read.
  void jump(std::int64_t bytes, std::uint64_t begin) {
    std::uint64_t to = at_ + static_cast<std::uint64_t>(bytes);
    if (to < begin || to > end_) failed_ = true;
    if (!failed_) at_ = to;
  }
  std::uint64_t uleb();
  std::int64_t sleb();
  // A pointer in one of the encodings of exception tables; `base` is what it may be relative to besides itself.
  std::uint64_t pointer(std::uint8_t encoding, std::uint64_t base);

 private:
  std::uint64_t plain(std::uint8_t format);
  TableWindow& window_;
  std::uint64_t at_, end_;
  bool failed_ = false;
};

// DW_EH_PE_…
inline constexpr std::uint8_t kPointerOmitted = 0xff;
inline constexpr std::uint8_t kPointerSigned4FromBase = 0x3b, kPointerSigned8FromBase = 0x3c;

}  // namespace hostprobe::probe
