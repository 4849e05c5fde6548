// python_frames.cpp: see python_frames.h. First finding the interpreter (writer thread), then reading frames (any thread).
//
// Price, CPython 3.11 and 3.13 in a virtual machine: 1 550 instructions of ours and 2.2 process_vm_readv per frame; 12 µs
// for 6 frames, 28 µs for 16, nine tenths of it in the kernel. 0.8 KiB of stack. Paid at most once per thread and
// HOSTPROBE_STACK_INTERVAL_MS, after a wait of at least HOSTPROBE_STACK_US.
#include "probe/stacks/python_frames.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "probe/runtime/of_process.h"
#include "probe/runtime/safe_memory.h"
#include "probe/stacks/python_layout.h"
#include "probe/stacks/python_lines.h"
#include "probe/stacks/python_symbols.h"

namespace hostprobe::probe {
namespace {

struct Python {
  void* (*thread_state)();  // PyGILState_GetThisThreadState: a thread-local read, needs no GIL
  int (*is_finalizing)();
  std::uint64_t code_type, text_type, bytes_type;
  PythonLayout layout;
};
// Written once, before g_ready.
HP_KEPT_BY_CHILDREN constinit Python g_python{};
HP_KEPT_BY_CHILDREN constinit std::atomic<bool> g_ready{false};

// ---- finding the interpreter ----

// "3.10.13 (main, ...": as PY_VERSION_HEX, 0 when it is not a release or a release candidate.
std::uint32_t hex_of(const char* text) {
  unsigned parts[3] = {};
  for (unsigned i = 0; i < 3; ++i) {
    if (*text < '0' || *text > '9') return 0;
    while (*text >= '0' && *text <= '9') parts[i] = parts[i] * 10 + static_cast<unsigned>(*text++ - '0');
    if (i < 2 && *text++ != '.') return 0;
  }
  if (*text == 'a' || *text == 'b') return 0;
  return parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | 0xf0;
}

std::uint32_t version_of(const PythonSymbols& symbols) {
  if (symbols.version != 0) {
    auto hex = static_cast<std::uint32_t>(*reinterpret_cast<const unsigned long*>(symbols.version));
    const bool candidate_or_release = (hex & 0xf0) >= 0xc0;
    return candidate_or_release ? hex : 0;
  }
  if (symbols.get_version == 0) return 0;
  return hex_of(reinterpret_cast<const char* (*)()>(symbols.get_version)());
}

bool choose_layout(std::uint32_t hex, std::uint64_t runtime, PythonLayout& out) {
  const unsigned version = hex >> 16;
  for (const KnownLayout& known : kKnownLayouts) {
    if (known.version != version) continue;
    out = *known.layout;
    return true;
  }
  if (version != kVersion313 && version != kVersion314) return false;
  std::uint64_t words[kMostOffsetWords];
  return runtime != 0 && Memory().copy(words, runtime, sizeof words) && layout_of_offsets(words, hex, out);
}

// The types must describe themselves where we look for a type; with Py_TRACE_REFS they do not. Proves at the same time
// that the kernel lets us copy (a seccomp filter may refuse).
bool types_are_readable(const PythonSymbols& symbols) {
  const Memory memory;
  for (std::uint64_t at : {symbols.code_type, symbols.text_type, symbols.bytes_type, symbols.type_type}) {
    std::uint64_t type = 0;
    if (at == 0 || !memory.copy(&type, at + kObjectType, sizeof type) || type != symbols.type_type) return false;
  }
  return true;
}

bool find() {
  PythonSymbols symbols;
  find_python_symbols(symbols);
  const std::uint64_t finalizing = symbols.finalizing != 0 ? symbols.finalizing : symbols.finalizing_before_313;
  if (symbols.thread_state == 0 || finalizing == 0 || symbols.debug_build != 0) return false;
  if (!types_are_readable(symbols)) return false;
  if (!choose_layout(version_of(symbols), symbols.runtime, g_python.layout)) return false;
  g_python.thread_state = reinterpret_cast<void* (*)()>(symbols.thread_state);
  g_python.is_finalizing = reinterpret_cast<int (*)()>(finalizing);
  g_python.code_type = symbols.code_type;
  g_python.text_type = symbols.text_type;
  g_python.bytes_type = symbols.bytes_type;
  return stays_loaded(symbols.home);
}

// ---- text ----

constexpr unsigned kMostPoints = kPythonFrameBytes - 4;  // more would never fit
constexpr unsigned kDigits = 11;

// The last code points of a str.
struct Points {
  unsigned width, count;
  bool is_cut;
  alignas(4) char raw[kMostPoints * 4];
  std::uint32_t at(unsigned i) const {
    if (width == 1) return field<std::uint8_t>(raw, i);
    return width == 2 ? field<std::uint16_t>(raw, i * 2) : field<std::uint32_t>(raw, i * 4);
  }
};

// `raw`: what was already copied of the str at `from`.
bool read_points(const Memory& memory, const char* raw, std::size_t raw_bytes, std::uint64_t from, Points& out) {
  const PythonLayout& layout = g_python.layout;
  if (word(raw, kObjectType) != g_python.text_type) return false;
  const std::uint64_t length = word(raw, layout.text_length);
  const std::uint32_t state = field<std::uint32_t>(raw, layout.text_state) >> layout.text_kind_shift;
  const bool is_compact = (state >> 3 & 1) != 0, is_ascii = (state >> 4 & 1) != 0;
  out.width = state & 7;
  if (!is_compact || (out.width != 1 && out.width != 2 && out.width != 4) || length >> 31 != 0) return false;
  out.is_cut = length > kMostPoints;
  out.count = static_cast<unsigned>(out.is_cut ? kMostPoints : length);
  const std::uint64_t start = is_ascii ? layout.text_ascii_bytes : layout.text_compact_bytes;
  const std::uint64_t begin = start + (length - out.count) * out.width;
  const std::size_t bytes = std::size_t{out.count} * out.width;
  if (begin + bytes > raw_bytes) return memory.copy(out.raw, from + begin, bytes);
  memcpy(out.raw, raw + begin, bytes);
  return true;
}

// What JSON and a terminal would choke on becomes '?': control characters, surrogates (a file name's undecodable bytes).
std::uint32_t printable(std::uint32_t point) {
  const bool is_odd = point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0xd800 && point < 0xe000);
  return is_odd || point > 0x10ffff ? '?' : point;
}

unsigned utf8_bytes(std::uint32_t point) { return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4; }

char* put_utf8(char* to, std::uint32_t point) {
  const unsigned bytes = utf8_bytes(point);
  if (bytes == 1) {
    *to = static_cast<char>(point);
    return to + 1;
  }
  for (unsigned i = bytes - 1; i > 0; --i, point >>= 6) to[i] = static_cast<char>(0x80 | (point & 0x3f));
  to[0] = static_cast<char>((0xf00 >> bytes & 0xff) | point);
  return to + bytes;
}

// Code points `first`... as UTF-8 into at most `room` bytes; what does not fit is left out in front, behind "...".
char* put_points(char* to, unsigned room, const Points& points, unsigned first, bool is_cut) {
  constexpr unsigned kDots = 3;
  unsigned bytes = 0;
  for (unsigned i = first; i < points.count; ++i) bytes += utf8_bytes(printable(points.at(i)));
  if (bytes > room || is_cut) {
    if (room < kDots) return to;
    for (; first < points.count && bytes > room - kDots; ++first) bytes -= utf8_bytes(printable(points.at(first)));
    memcpy(to, "...", kDots);
    to += kDots;
  }
  for (; first < points.count; ++first) to = put_utf8(to, printable(points.at(first)));
  return to;
}

char* put_number(char* to, unsigned number) {
  char digits[kDigits];
  unsigned count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
  return to;
}

// ---- one frame ----

// A line table, read piece by piece.
class TableBytes {
 public:
  // `raw`: what was already copied of the bytes object at `from`.
  TableBytes(const Memory& memory, char (&bytes)[256], const char* raw, std::size_t raw_bytes, std::uint64_t from)
      : memory_(memory), bytes_(bytes) {
    const std::uint64_t length = word(raw, kBytesLength);
    if (word(raw, kObjectType) != g_python.bytes_type || length > kMostBytes) return;
    left_ = static_cast<std::size_t>(length);
    from_ = from + kBytesStart;
    hold(raw + kBytesStart, raw_bytes - kBytesStart);
  }
  bool next(unsigned char& byte) {
    if (used_ == held_ && !refill()) return false;
    byte = static_cast<unsigned char>(bytes_[used_++]);
    return true;
  }

 private:
  static constexpr std::uint64_t kMostBytes = 256 * 1024;  // beyond: the first line will do
  void hold(const char* raw, std::size_t bytes) {
    held_ = bytes < sizeof bytes_ ? bytes : sizeof bytes_;
    if (held_ > left_) held_ = left_;
    memcpy(bytes_, raw, held_);
    take_off(held_);
  }
  void take_off(std::size_t bytes) {
    left_ -= bytes;
    from_ += bytes;
  }
  bool refill() {
    used_ = 0;
    held_ = left_ < sizeof bytes_ ? left_ : sizeof bytes_;
    if (held_ == 0 || !memory_.copy(bytes_, from_, held_)) held_ = left_ = 0;
    take_off(held_);
    return held_ != 0;
  }
  const Memory& memory_;
  std::uint64_t from_ = 0;
  std::size_t left_ = 0, held_ = 0, used_ = 0;
  char (&bytes_)[256];
};

struct Frame {
  std::uint64_t code, back, instruction;
  unsigned owner;
};

Frame frame_of(const char* raw) {
  const PythonLayout& layout = g_python.layout;
  constexpr std::uint64_t kTags = 7;  // 3.14 marks references in the lowest bits
  Frame frame{word(raw, layout.frame_code) & ~kTags, word(raw, layout.frame_back), 0, 0};
  if (layout.frame_owner == 0) {
    frame.instruction = static_cast<std::uint64_t>(std::int64_t{field<std::int32_t>(raw, layout.frame_instruction)});
  } else {
    frame.instruction = word(raw, layout.frame_instruction);
    frame.owner = static_cast<unsigned char>(raw[layout.frame_owner]);
  }
  return frame;
}

// Bytes from the first instruction to the current one.
std::int64_t instruction_offset(const Frame& frame) {
  const PythonLayout& layout = g_python.layout;
  const auto value = static_cast<std::int64_t>(frame.instruction);
  if (layout.frame_owner != 0) return value - static_cast<std::int64_t>(frame.code + layout.code_start);
  return layout.lines == LineTable::kRanges ? value * 2 : value;  // 3.10 counts code units, 3.8 and 3.9 bytes
}

// Before its first real instruction a frame is not in Python's own tracebacks either: the frame that the interpreter
// puts below an inlined __init__ never gets there, and its "function" is none that anybody wrote.
bool has_begun(const Frame& frame, const char* code) {
  constexpr unsigned kOwnedByGenerator = 1;
  const PythonLayout& layout = g_python.layout;
  if (layout.frame_owner == 0 || frame.owner == kOwnedByGenerator) return true;
  return instruction_offset(frame) >= std::int64_t{field<std::int32_t>(code, layout.code_traceable)} * 2;
}

struct Texts {
  char name[176], file[240], lines[256];
  std::size_t name_bytes, file_bytes, lines_bytes;
};

bool read_texts(const Memory& memory, std::uint64_t name, std::uint64_t file, std::uint64_t lines, Texts& out) {
  if (!may_be_object(name) || !may_be_object(file) || !may_be_object(lines)) return false;
  const unsigned head = g_python.layout.text_ascii_bytes;
  out.name_bytes = bytes_to_read(name, head, sizeof out.name);
  out.file_bytes = bytes_to_read(file, head, sizeof out.file);
  out.lines_bytes = bytes_to_read(lines, kBytesStart, sizeof out.lines);
  const Piece pieces[] = {
      {out.name, name, out.name_bytes}, {out.file, file, out.file_bytes}, {out.lines, lines, out.lines_bytes}};
  return memory.copy(pieces, 3) == 3;
}

// What one frame needs, apart from the stack.
struct FrameWork {
  Texts texts;
  Points name, file;
  char table[256];
  char raw[kMostFrameBytes], code[kMostCodeBytes];
};
static_assert(sizeof(FrameWork) <= sizeof(PythonWork));

// "get (queue.py:180)". The place is written first, into its own buffer: the name gets the room that is left.
void put_text(const Points& name, const Points& file, unsigned line, char* to) {
  constexpr unsigned kMostFileBytes = 72;
  char place[kMostFileBytes + 1 + kDigits];
  unsigned first = 0;
  for (unsigned i = 0; i < file.count; ++i) {
    if (file.at(i) == '/') first = i + 1;
  }
  char* end = put_points(place, kMostFileBytes, file, first, file.is_cut && first == 0);
  if (line != 0) {
    *end++ = ':';
    end = put_number(end, line);
  }
  const auto place_bytes = static_cast<unsigned>(end - place);
  const unsigned room = kPythonFrameBytes - place_bytes - 4;  // " (", ")", 0
  to = put_points(to, room, name, 0, name.is_cut);
  *to++ = ' ';
  *to++ = '(';
  memcpy(to, place, place_bytes);
  to += place_bytes;
  *to++ = ')';
  *to = 0;
}

bool describe(const Memory& memory, const Frame& frame, FrameWork& work, PythonFrame& out) {
  const PythonLayout& layout = g_python.layout;
  const char* code = work.code;
  if (word(code, kObjectType) != g_python.code_type || !has_begun(frame, code)) return false;
  const std::uint64_t name = word(code, layout.code_name), file = word(code, layout.code_file),
                      lines = word(code, layout.code_lines);
  Texts& texts = work.texts;
  Points &name_points = work.name, &file_points = work.file;
  if (!read_texts(memory, name, file, lines, texts) ||
      !read_points(memory, texts.name, texts.name_bytes, name, name_points) ||
      !read_points(memory, texts.file, texts.file_bytes, file, file_points)) {
    return false;
  }
  TableBytes table(memory, work.table, texts.lines, texts.lines_bytes, lines);
  const int first_line = field<std::int32_t>(code, layout.code_first_line);
  const int line = line_of(layout.lines, table, first_line, instruction_offset(frame));
  out.code = reinterpret_cast<const void*>(frame.code);
  out.line = line > 0 ? static_cast<unsigned>(line) : 0;
  put_text(name_points, file_points, out.line, out.text);
  return true;
}

// ---- the stack ----

// Address of the innermost frame of the calling thread, 0: none.
std::uint64_t innermost_frame(const Memory& memory) {
  const PythonLayout& layout = g_python.layout;
  const auto thread = reinterpret_cast<std::uint64_t>(g_python.thread_state());
  if (!may_be_object(thread)) return 0;
  std::uint64_t id = 0, frame = 0;
  const Piece pieces[] = {{&id, thread + layout.thread_id, 8}, {&frame, thread + layout.thread_frame, 8}};
  if (memory.copy(pieces, 2) != 2) return 0;
  // Not ours: the key of the thread-local was deleted by Py_FinalizeEx and given to another library.
  if (id != static_cast<std::uint64_t>(pthread_self())) return 0;
  if (layout.by_c_frame && (!may_be_object(frame) || !memory.copy(&frame, frame + layout.c_frame_frame, 8))) return 0;
  return frame;
}

unsigned walk(const Memory& memory, std::uint64_t innermost, PythonFrame* out, unsigned most, FrameWork& work) {
  constexpr unsigned kMostLeftOut = 64;  // a chain that goes in a circle ends here
  const PythonLayout& layout = g_python.layout;
  char* const raw = work.raw;
  if (!may_be_object(innermost) || !memory.copy(raw, innermost, layout.frame_bytes)) return 0;
  unsigned count = 0;
  for (unsigned left_out = 0; count < most && left_out < kMostLeftOut;) {
    const Frame frame = frame_of(raw);
    const bool is_python = frame.owner < kFirstNotPython && may_be_object(frame.code);
    const bool goes_on = may_be_object(frame.back);
    Piece pieces[2];
    unsigned wanted = 0;
    if (is_python) pieces[wanted++] = {work.code, frame.code, layout.code_bytes};
    if (goes_on) pieces[wanted++] = {raw, frame.back, layout.frame_bytes};
    const unsigned got = wanted == 0 ? 0 : memory.copy(pieces, wanted);
    const bool is_described = is_python && got > 0 && describe(memory, frame, work, out[count]);
    if (is_described) {
      ++count;
    } else {
      ++left_out;
    }
    if (!goes_on || got < wanted) break;
  }
  return count;
}

// Py_FinalizeEx announces itself before it frees the frames of other threads. Announced before: nothing is read.
// Announced meanwhile: what was read may be of freed memory, and is thrown away.
unsigned read_unless_finalizing(PythonFrame* out, unsigned most, FrameWork& work) {
  if (g_python.is_finalizing() != 0) return 0;
  const Memory memory;
  const unsigned count = walk(memory, innermost_frame(memory), out, most, work);
  return g_python.is_finalizing() != 0 ? 0 : count;
}

}  // namespace

bool python_frames_find() {
  if (g_ready.load(std::memory_order_acquire)) return true;
  const int kept = errno;
  const bool found = find();
  errno = kept;
  if (found) g_ready.store(true, std::memory_order_release);
  return found;
}

bool python_frames_ready() { return g_ready.load(std::memory_order_relaxed); }

unsigned python_frames_read(PythonFrame* out, unsigned most, PythonWork& work) {
  if (!g_ready.load(std::memory_order_acquire)) return 0;
  const int kept = errno;
  const unsigned count = read_unless_finalizing(out, most, *new (work.bytes) FrameWork);
  errno = kept;
  return count;
}

}  // namespace hostprobe::probe
