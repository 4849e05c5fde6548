// python_layout.h: where CPython keeps its frames, code objects and strings, per version.
//
// Room 1 (format/): the probe reads its own process with it, the analysis a process beside it. 3.8-3.12 are written down
// here, from the interpreters' headers; tests/python_frames compares each row with the headers that a machine has. From
// 3.13 to 3.15 the interpreter carries its own table (_Py_DebugOffsets, the first bytes of _PyRuntime); only its shape changes
// with the minor version. A version that stands nowhere here is refused.
#pragma once

#include <cstdint>

namespace hostprobe {

enum class LineTable : std::uint8_t {
  kSteps,      // 3.8, 3.9: (bytes forward, lines forward)*
  kRanges,     // 3.10: (bytes of this range, lines forward or "no line")*
  kLocations,  // 3.11 and later: one entry per range of instructions, with columns
};

inline constexpr unsigned kObjectType = 8;  // ob_type, without Py_TRACE_REFS
inline constexpr unsigned kBytesLength = 16, kBytesStart = 32;
inline constexpr unsigned kFirstNotPython = 3;  // owners from here on: frames of the interpreter itself

struct PythonLayout {
  // thread state → frame, or thread state → C frame → frame
  std::uint16_t thread_id, thread_frame;
  bool by_c_frame = false;
  std::uint16_t c_frame_frame = 0;
  // frame; owner 0: there is no such field
  std::uint16_t frame_code, frame_back, frame_instruction, frame_owner = 0, frame_bytes;
  // code object; the first two are 0 where the frame counts instructions instead of pointing to one
  std::uint16_t code_start = 0, code_traceable = 0, code_file, code_name, code_lines, code_first_line, code_bytes;
  // str
  std::uint16_t text_length, text_state, text_ascii_bytes, text_compact_bytes;
  bool text_may_be_wide = false;  // text_state
  LineTable lines;
};

inline constexpr unsigned kMostFrameBytes = 128, kMostCodeBytes = 224, kMostTextHeadBytes = 80;

inline constexpr PythonLayout kPython38 = {
    .thread_id = 176,
    .thread_frame = 24,
    .frame_code = 32,
    .frame_back = 24,
    .frame_instruction = 104,
    .frame_bytes = 108,
    .code_file = 104,
    .code_name = 112,
    .code_lines = 120,
    .code_first_line = 40,
    .code_bytes = 128,
    .text_length = 16,
    .text_state = 32,
    .text_ascii_bytes = 48,
    .text_compact_bytes = 72,
    .lines = LineTable::kSteps,
};

inline constexpr PythonLayout kPython310 = {
    .thread_id = 176,
    .thread_frame = 24,
    .frame_code = 32,
    .frame_back = 24,
    .frame_instruction = 96,
    .frame_bytes = 100,
    .code_file = 104,
    .code_name = 112,
    .code_lines = 120,
    .code_first_line = 40,
    .code_bytes = 128,
    .text_length = 16,
    .text_state = 32,
    .text_ascii_bytes = 48,
    .text_compact_bytes = 72,
    .lines = LineTable::kRanges,
};

inline constexpr PythonLayout kPython311 = {
    .thread_id = 152,
    .thread_frame = 56,
    .by_c_frame = true,
    .c_frame_frame = 8,
    .frame_code = 32,
    .frame_back = 48,
    .frame_instruction = 56,
    .frame_owner = 69,
    .frame_bytes = 70,
    .code_start = 184,
    .code_traceable = 168,
    .code_file = 112,
    .code_name = 128,
    .code_lines = 136,
    .code_first_line = 72,
    .code_bytes = 184,
    .text_length = 16,
    .text_state = 32,
    .text_ascii_bytes = 48,
    .text_compact_bytes = 72,
    .lines = LineTable::kLocations,
};

inline constexpr PythonLayout kPython312 = {
    .thread_id = 136,
    .thread_frame = 56,
    .by_c_frame = true,
    .c_frame_frame = 0,
    .frame_code = 0,
    .frame_back = 8,
    .frame_instruction = 56,
    .frame_owner = 70,
    .frame_bytes = 71,
    .code_start = 192,
    .code_traceable = 176,
    .code_file = 112,
    .code_name = 128,
    .code_lines = 136,
    .code_first_line = 68,
    .code_bytes = 192,
    .text_length = 16,
    .text_state = 32,
    .text_ascii_bytes = 40,
    .text_compact_bytes = 56,
    .lines = LineTable::kLocations,
};

// How all threads are found: _PyRuntime → interpreter → thread state.
struct PythonLists {
  std::uint32_t runtime_interpreters, interpreter_next, interpreter_threads;
};
inline constexpr PythonLists kLists38{32, 0, 8}, kLists311{40, 0, 16}, kLists312{40, 0, 72};

struct KnownLayout {
  unsigned version;  // PY_VERSION_HEX >> 16
  const PythonLayout* layout;
  PythonLists lists;
};
inline constexpr KnownLayout kKnownLayouts[] = {
    {0x0308, &kPython38, kLists38},   {0x0309, &kPython38, kLists38},   {0x030a, &kPython310, kLists38},
    {0x030b, &kPython311, kLists311}, {0x030c, &kPython312, kLists312},
};
inline constexpr unsigned kVersion314 = 0x030e;

// The interpreter's own table, as 64-bit words: cookie, version, free-threaded, then groups that start with a size.
// The numbers are the positions of the groups' sizes, and of a thread's id in its group.
struct OffsetTable {
  unsigned version;  // PY_VERSION_HEX >> 16
  std::uint8_t thread, id_in_thread, frame, code, object, bytes, text;
};
inline constexpr OffsetTable kOffsets313 = {0x030d, 19, 5, 28, 34, 44, 64, 67};
inline constexpr OffsetTable kOffsets314 = {0x030e, 22, 5, 31, 39, 50, 74, 77};
inline constexpr OffsetTable kOffsets315 = {0x030f, 22, 8, 39, 47, 58, 86, 89};
inline constexpr unsigned kMostOffsetWords = 96;
inline constexpr std::uint64_t kOffsetCookie = 0x7970677562656478;  // "xdebugpy"

inline PythonLists lists_in_words(const std::uint64_t* words) {
  return {static_cast<std::uint32_t>(words[5]), static_cast<std::uint32_t>(words[8]),
          static_cast<std::uint32_t>(words[9])};
}

// nullptr: such an interpreter has none, or one of a shape that is not known.
inline const OffsetTable* offset_table_of(unsigned version) {
  if (version == kOffsets313.version) return &kOffsets313;
  if (version == kOffsets314.version) return &kOffsets314;
  return version == kOffsets315.version ? &kOffsets315 : nullptr;
}

// What the interpreter's own table says; whether it can be believed is another question.
inline PythonLayout layout_in_words(const std::uint64_t* words, const OffsetTable& at) {
  PythonLayout out{};
  auto of = [words](unsigned group, unsigned i) { return static_cast<std::uint16_t>(words[group + i]); };
  out.thread_frame = of(at.thread, 4);
  out.thread_id = of(at.thread, at.id_in_thread);
  out.frame_back = of(at.frame, 1);
  out.frame_code = of(at.frame, 2);
  out.frame_instruction = of(at.frame, 3);
  out.frame_owner = of(at.frame, 5);
  out.frame_bytes = static_cast<std::uint16_t>(out.frame_owner + 1);
  out.code_file = of(at.code, 1);
  out.code_name = of(at.code, 3);
  out.code_lines = of(at.code, 4);
  out.code_first_line = of(at.code, 5);
  out.code_start = out.code_bytes = of(at.code, 9);
  out.code_traceable = static_cast<std::uint16_t>(out.code_start - 16);  // followed by co_extra and the instructions
  out.text_state = of(at.text, 1);
  out.text_length = of(at.text, 2);
  out.text_ascii_bytes = of(at.text, 3);
  out.text_compact_bytes = static_cast<std::uint16_t>(out.text_ascii_bytes + 16);
  out.text_may_be_wide = at.version >= kVersion314;
  out.lines = LineTable::kLocations;
  return out;
}

// What the state of a str says of its characters.
struct TextState {
  unsigned width;  // of one, in bytes; 0: this is no state
  bool is_compact, is_ascii;
};

// Two bits in front of them say how it is interned. Early builds of 3.14 had 16 for that (text_may_be_wide), which leaves no width where
// the others have it.
inline TextState text_state(const PythonLayout& layout, std::uint32_t raw) {
  const auto read = [](std::uint32_t state) -> TextState {
    const unsigned width = state & 7;
    const bool is_width = width == 1 || width == 2 || width == 4;
    return {is_width ? width : 0, is_width && (state >> 3 & 1) != 0, (state >> 4 & 1) != 0};
  };
  const TextState narrow = read(raw >> 2);
  return narrow.width == 0 && layout.text_may_be_wide ? read(raw >> 16) : narrow;
}

}  // namespace hostprobe
