// program_head.h: what the head of a program's file says of how it is started, as far as it matters to a preloaded library.
//
// Room elf/. The probe looks before an exec, `hostprobe run` before it starts the program. Bytes come from the caller, who reads the
// file; nothing of it is believed that does not fit. Of one architecture only, as the library is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe {

enum class ProgramKind : std::uint8_t {
  kUnknown,    // cannot be read, or nothing that is known here
  kScript,     // `text` is its interpreter's path
  kLoads,      // a preloaded library is loaded into it
  kOther,      // of another architecture: its loader says so in a line, and goes on
  kStatic,     // it has no loader
  kMusl,       // musl's loader does not start it with a library that is made for glibc
  kAsanFirst,  // linked to ASan's runtime `text`, which ends the program unless it is the first library of all
};

struct ProgramHead {
  ProgramKind kind = ProgramKind::kUnknown;
  char text[256] = {};
};

namespace program_head {

struct Elf {
  unsigned char identity[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, segments_at, sections_at;
  std::uint32_t flags;
  std::uint16_t own_bytes, segment_bytes, segment_count, section_bytes, section_count, names_index;
};
static_assert(sizeof(Elf) == 64);
struct Segment {
  std::uint32_t type, flags;
  std::uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
};
static_assert(sizeof(Segment) == 56);
struct Dynamic {
  std::int64_t tag;
  std::uint64_t value;
};

// What this library can be loaded into, as the file says it and in words.
#if defined(__aarch64__)
inline constexpr std::uint16_t kOwnMachine = 183;
inline constexpr char kOwnMachineName[] = "64-bit ARM";
#else
inline constexpr std::uint16_t kOwnMachine = 62;
inline constexpr char kOwnMachineName[] = "64-bit x86";
#endif

inline constexpr std::uint32_t kLoad = 1, kDynamic = 2, kLoader = 3;
inline constexpr std::int64_t kNeeded = 1, kStrings = 5;
inline constexpr unsigned kMostSegments = 24, kMostEntries = 64;
inline constexpr unsigned kMostNeeded = 8;  // a compiler puts a sanitizer's runtime in front
inline constexpr std::size_t kNameBytes = 64;

constexpr bool starts_with(const char* text, const char* start) {
  for (; *start != 0; ++text, ++start)
    if (*text != *start) return false;
  return true;
}
constexpr bool holds(const char* text, const char* part) {
  for (; *text != 0; ++text)
    if (starts_with(text, part)) return true;
  return false;
}
constexpr bool is_asan(const char* library) {
  return starts_with(library, "libasan.so") || starts_with(library, "libhwasan.so") ||
         starts_with(library, "libclang_rt.asan") || starts_with(library, "libclang_rt.hwasan");
}

// `#! /usr/bin/env python3`: the first word behind the two characters.
constexpr void take_interpreter(const char* line, ProgramHead& head) {
  const char* from = line + 2;
  while (*from == ' ' || *from == '\t') ++from;
  std::size_t length = 0;
  for (; from[length] != 0 && from[length] != ' ' && from[length] != '\t' && from[length] != '\n'; ++length)
    head.text[length] = from[length];
  head.text[length] = 0;
  head.kind = length == 0 ? ProgramKind::kUnknown : ProgramKind::kScript;
}

// Where in the file an address lies; 0: nowhere.
constexpr std::uint64_t offset_of(std::uint64_t address, const Segment* segments, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const Segment& s = segments[i];
    if (s.type == kLoad && address >= s.address && address - s.address < s.file_bytes)
      return s.offset + (address - s.address);
  }
  return 0;
}

template <class Read>
bool needs_asan(const Read& read, const Segment& dynamic, const Segment* segments, unsigned count, char* name) {
  Dynamic entries[kMostEntries];
  const std::size_t wanted = dynamic.file_bytes < sizeof entries ? dynamic.file_bytes : sizeof entries;
  const std::size_t entry_count = read(dynamic.offset, entries, wanted) / sizeof *entries;
  std::uint64_t strings = 0;
  for (std::size_t i = 0; i < entry_count; ++i)
    if (entries[i].tag == kStrings) strings = offset_of(entries[i].value, segments, count);
  if (strings == 0) return false;
  unsigned needed = 0;
  for (std::size_t i = 0; i < entry_count && entries[i].tag != 0 && needed < kMostNeeded; ++i) {
    if (entries[i].tag != kNeeded) continue;
    ++needed;
    name[read(strings + entries[i].value, name, kNameBytes - 1)] = 0;
    if (is_asan(name)) return true;
  }
  return false;
}

template <class Read>
void take_elf(const Read& read, const Elf& elf, ProgramHead& head) {
  constexpr unsigned char kClass64 = 2;
  head.kind = ProgramKind::kOther;
  if (elf.identity[4] != kClass64 || elf.machine != kOwnMachine) return;
  head.kind = ProgramKind::kUnknown;
  Segment segments[kMostSegments];
  if (elf.segment_bytes != sizeof(Segment) || elf.segment_count == 0 || elf.segment_count > kMostSegments) return;
  const std::size_t bytes = elf.segment_count * sizeof(Segment);
  if (read(elf.segments_at, segments, bytes) != bytes) return;
  const Segment *loader = nullptr, *dynamic = nullptr;
  for (unsigned i = 0; i < elf.segment_count; ++i) {
    if (segments[i].type == kLoader) loader = &segments[i];
    if (segments[i].type == kDynamic) dynamic = &segments[i];
  }
  head.kind = loader == nullptr ? ProgramKind::kStatic : ProgramKind::kLoads;
  if (loader == nullptr) return;
  const std::size_t length = loader->file_bytes < kNameBytes ? loader->file_bytes : kNameBytes - 1;
  head.text[read(loader->offset, head.text, length)] = 0;
  if (holds(head.text, "ld-musl"))
    head.kind = ProgramKind::kMusl;
  else if (dynamic != nullptr && needs_asan(read, *dynamic, segments, elf.segment_count, head.text))
    head.kind = ProgramKind::kAsanFirst;
}

}  // namespace program_head

// `read(offset, to, bytes)` gives how many bytes of the file it has put there. Some 3 KiB of stack.
template <class Read>
void read_program_head(const Read& read, ProgramHead& head) {
  constexpr char kMagic[] = "\177ELF";
  head = {};
  union {
    char line[sizeof head.text];
    program_head::Elf elf;
  } start;
  const std::size_t got = read(0, start.line, sizeof start.line - 1);
  start.line[got] = 0;
  if (program_head::starts_with(start.line, "#!"))
    program_head::take_interpreter(start.line, head);
  else if (got >= sizeof start.elf && program_head::starts_with(start.line, kMagic))
    program_head::take_elf(read, start.elf, head);
}

}  // namespace hostprobe
