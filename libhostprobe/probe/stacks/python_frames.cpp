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
#include <initializer_list>
#include <new>

#include "probe/runtime/of_process.h"
#include "probe/runtime/safe_memory.h"
#include "probe/stacks/python_chain.h"
#include "probe/stacks/python_layout.h"
#include "probe/stacks/python_lines.h"
#include "probe/stacks/python_symbols.h"
#include "probe/stacks/python_table.h"
#include "probe/stacks/python_text.h"

namespace hostprobe::probe {
namespace {

struct Python {
  void* (*thread_state)();  // PyGILState_GetThisThreadState: a thread-local read, needs no GIL
  int (*is_finalizing)();
  std::uint64_t code_type, text_type, bytes_type;
  std::uint64_t runtime;  // 0: not exported
  bool has_flags;         // beside an object's count of references
  PythonLayout layout;
  PythonLists lists;
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

bool choose_layout(std::uint32_t hex, std::uint64_t runtime, Python& out) {
  const unsigned version = hex >> 16;
  for (const KnownLayout& known : kKnownLayouts) {
    if (known.version != version) continue;
    out.layout = *known.layout;
    out.lists = known.lists;
    return true;
  }
  if (offset_table_of(version) == nullptr) return false;
  std::uint64_t words[kMostOffsetWords];
  if (runtime == 0 || !Memory().copy(words, runtime, sizeof words)) return false;
  out.lists = lists_in_words(words);
  return layout_of_offsets(words, hex, out.layout);
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

bool use(const PythonSymbols& symbols) {
  const std::uint64_t finalizing = symbols.finalizing != 0 ? symbols.finalizing : symbols.finalizing_before_313;
  if (symbols.thread_state == 0 || finalizing == 0 || symbols.debug_build != 0) return false;
  if (!types_are_readable(symbols)) return false;
  if (!choose_layout(version_of(symbols), symbols.runtime, g_python)) return false;
  g_python.runtime = symbols.runtime;
  g_python.has_flags = version_of(symbols) >> 16 >= kVersion314;
  g_python.thread_state = reinterpret_cast<void* (*)()>(symbols.thread_state);
  g_python.is_finalizing = reinterpret_cast<int (*)()>(finalizing);
  g_python.code_type = symbols.code_type;
  g_python.text_type = symbols.text_type;
  g_python.bytes_type = symbols.bytes_type;
  return stays_loaded(symbols.home);
}

template <class Search>
bool find(Search search) {
  if (g_ready.load(std::memory_order_acquire)) return true;
  const int kept = errno;
  PythonSymbols symbols;
  search(symbols);
  const bool found = use(symbols);
  errno = kept;
  if (found) g_ready.store(true, std::memory_order_release);
  return found;
}

// ---- text ----

// `raw`: what was already copied of the str at `from`.
bool read_points(const Memory& memory, const char* raw, std::size_t raw_bytes, std::uint64_t from, Points& out) {
  const PythonLayout& layout = g_python.layout;
  if (word(raw, kObjectType) != g_python.text_type) return false;
  const std::uint64_t length = word(raw, layout.text_length);
  const TextState state = text_state(layout, field<std::uint32_t>(raw, layout.text_state));
  out.width = state.width;
  if (!state.is_compact || length >> 31 != 0) return false;
  out.is_cut = length > kMostPoints;
  out.count = static_cast<unsigned>(out.is_cut ? kMostPoints : length);
  const std::uint64_t start = state.is_ascii ? layout.text_ascii_bytes : layout.text_compact_bytes;
  const std::uint64_t begin = start + (length - out.count) * out.width;
  const std::size_t bytes = std::size_t{out.count} * out.width;
  if (begin + bytes > raw_bytes) return memory.copy(out.raw, from + begin, bytes);
  memcpy(out.raw, raw + begin, bytes);
  return true;
}

// ---- one frame ----

using Frame = PythonLink;

Frame frame_of(std::uint64_t at, const char* raw) {
  const PythonLayout& layout = g_python.layout;
  constexpr std::uint64_t kTags = 7;  // 3.14 marks references in the lowest bits
  Frame frame{at, word(raw, layout.frame_code) & ~kTags, word(raw, layout.frame_back), 0, 0};
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
  TableBytes table(memory, g_python.bytes_type, work.table, texts.lines, texts.lines_bytes, lines);
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
    const Frame frame = frame_of(innermost, raw);
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

// ---- other threads ----

constexpr unsigned kMostInterpreters = 16, kMostThreads = 1024;

// What a thread state begins with, in every version so far.
struct ThreadHead {
  std::uint64_t before, next, interpreter;
};

// Another libc, or another version of it, may keep it elsewhere: the own one shows.
bool knows_thread_ids(const Memory& memory) {
  std::uint32_t tid = 0;
  return memory.copy(&tid, static_cast<std::uint64_t>(pthread_self()) + kTidInThread, sizeof tid) &&
         tid == static_cast<std::uint32_t>(own_thread());
}

// 0: the list cannot be followed any further.
std::uint64_t next_thread(const Memory& memory, std::uint64_t interpreter, std::uint64_t state, PythonThread* threads,
                          unsigned count) {
  ThreadHead head{};
  std::uint64_t pointer = 0;
  std::uint32_t tid = 0;
  const Piece pieces[] = {{&head, state, sizeof head}, {&pointer, state + g_python.layout.thread_id, sizeof pointer}};
  if (memory.copy(pieces, 2) != 2 || head.interpreter != interpreter) return 0;
  // One that has ended may have left its state behind.
  if (may_be_object(pointer) && memory.copy(&tid, pointer + kTidInThread, sizeof tid))
    for (unsigned i = 0; i < count; ++i)
      if (threads[i].tid == tid && threads[i].state == 0) threads[i] = {tid, state, pointer};
  return may_be_object(head.next) ? head.next : 0;
}

CodeWords words_of(const char* code) {
  const PythonLayout& layout = g_python.layout;
  return {word(code, kObjectType), word(code, layout.code_name), word(code, layout.code_file),
          word(code, layout.code_lines)};
}

constexpr unsigned kCodesAtOnce = 16;

struct RunningWork {
  PythonChain first, second;
  CodeWords codes[kMostLinks];  // of the first chain's links, read before the second chain
  // Frames of a thread lie close together: what is read of one page serves several.
  std::uint64_t held_from;
  std::size_t held_bytes;
  char held[kPageBytes + kMostFrameBytes];
  FrameWork frame;
  char code_again[kMostCodeBytes];
  char several_codes[kCodesAtOnce][kMostCodeBytes];
};
alignas(8) HP_KEPT_BY_CHILDREN char g_running[sizeof(RunningWork)];

const char* frame_bytes_at(const Memory& memory, std::uint64_t at, RunningWork& work) {
  const std::size_t bytes = g_python.layout.frame_bytes;
  if (at >= work.held_from && at + bytes <= work.held_from + work.held_bytes) return work.held + (at - work.held_from);
  work.held_from = at & ~(kPageBytes - 1);
  work.held_bytes = static_cast<std::size_t>(at - work.held_from) + bytes;
  if (memory.copy(work.held, work.held_from, work.held_bytes)) return work.held + (at - work.held_from);
  work.held_bytes = 0;
  return nullptr;
}

PythonReading read_chain(const Memory& memory, const PythonThread& thread, RunningWork& work, PythonChain& chain) {
  const PythonLayout& layout = g_python.layout;
  std::uint64_t pointer = 0, at = 0;
  std::uint32_t tid = 0;
  const Piece pieces[] = {{&pointer, thread.state + layout.thread_id, sizeof pointer},
                          {&at, thread.state + layout.thread_frame, sizeof at},
                          {&tid, thread.pointer + kTidInThread, sizeof tid}};
  if (memory.copy(pieces, 3) != 3 || pointer != thread.pointer || tid != thread.tid) return PythonReading::kGone;
  if (layout.by_c_frame && (!may_be_object(at) || !memory.copy(&at, at + layout.c_frame_frame, sizeof at)))
    return PythonReading::kTorn;
  chain.count = 0;
  work.held_bytes = 0;
  while (may_be_object(at) && chain.count < kMostLinks) {
    const char* raw = frame_bytes_at(memory, at, work);
    // Before 3.11 frames are objects: one without references has ended, and its place may be another one's already.
    if (raw == nullptr || (layout.frame_owner == 0 && word(raw, 0) == 0)) return PythonReading::kTorn;
    const PythonLink link = frame_of(at, raw);
    chain.links[chain.count++] = link;
    at = link.back;
  }
  if (at != 0) return PythonReading::kTorn;
  return chain.count == 0 ? PythonReading::kNoFrame : PythonReading::kRead;
}

// An instruction beyond the code's end is that of the frame that was at the same place before.
bool is_inside(const PythonLink& link, const char* code) {
  constexpr unsigned kObjectSize = 16;  // from 3.11 on the number of instructions
  return g_python.layout.frame_owner == 0 || instruction_offset(link) <= 2 * field<std::int64_t>(code, kObjectSize);
}

// Of an object that is freed the first word is part of a list, so no count of references.
bool is_alive(const char* code) {
  constexpr unsigned kObjectReferences = 0;
  const std::uint64_t references = word(code, kObjectReferences);
  return references != 0 && (g_python.has_flags || references >> 32 == 0);
}

bool is_python(const PythonLink& link) { return link.owner < kFirstNotPython && may_be_object(link.code); }

// Few system calls, as the thread goes on meanwhile. What cannot be read keeps words that no code object has.
void read_codes_at(const Memory& memory, const unsigned* links, unsigned count, RunningWork& work) {
  Piece pieces[kCodesAtOnce];
  for (unsigned k = 0; k < count; ++k)
    pieces[k] = {work.several_codes[k], work.first.links[links[k]].code, g_python.layout.code_bytes};
  for (unsigned from = 0; from < count; ++from) {  // behind one that is not there
    const unsigned end = from + memory.copy<kCodesAtOnce>(pieces + from, count - from);
    for (; from < end; ++from) work.codes[links[from]] = words_of(work.several_codes[from]);
  }
}

void read_codes(const Memory& memory, RunningWork& work) {
  unsigned wanted[kCodesAtOnce], count = 0;
  for (unsigned i = 0; i < work.first.count; ++i) {
    work.codes[i] = {};
    if (!is_python(work.first.links[i]) || earlier_link_of_same_code(work.first, i) != i) continue;
    wanted[count++] = i;
    if (count < kCodesAtOnce) continue;
    read_codes_at(memory, wanted, count, work);
    count = 0;
  }
  read_codes_at(memory, wanted, count, work);
  for (unsigned i = 0; i < work.first.count; ++i) work.codes[i] = work.codes[earlier_link_of_same_code(work.first, i)];
}

// The frame may end meanwhile, and its code with it. `words` are the code's while the frame was there: another code object may lie at
// that address by now. What is there unchanged behind the reading was there all the time.
bool describe_running(const Memory& memory, const PythonLink& link, const CodeWords& words, RunningWork& work,
                      PythonFrame& out) {
  const std::size_t bytes = g_python.layout.code_bytes;
  char* const code = work.frame.code;
  if (!memory.copy(code, link.code, bytes) || !is_alive(code) || words_of(code) != words || !is_inside(link, code))
    return false;
  if (!describe(memory, link, work.frame, out)) return false;
  return memory.copy(work.code_again, link.code, bytes) && is_alive(work.code_again) &&
         words_of(work.code_again) == words;
}

PythonReading read_running(const Memory& memory, const PythonThread& thread, PythonFrame* out, unsigned most,
                           unsigned& count, RunningWork& work) {
  PythonReading reading = read_chain(memory, thread, work, work.first);
  if (reading != PythonReading::kRead) return reading;
  read_codes(memory, work);
  reading = read_chain(memory, thread, work, work.second);
  if (reading != PythonReading::kRead) return reading == PythonReading::kNoFrame ? PythonReading::kTorn : reading;
  for (unsigned i = agreed_link(work.first, work.second); i < work.first.count && count < most; ++i) {
    const PythonLink& link = work.first.links[i];
    if (is_python(link) && describe_running(memory, link, work.codes[i], work, out[count])) ++count;
  }
  return count == 0 ? PythonReading::kTorn : PythonReading::kRead;
}

void find_threads(const Memory& memory, PythonThread* threads, unsigned count) {
  if (!g_ready.load(std::memory_order_acquire) || g_python.runtime == 0 || !knows_thread_ids(Memory())) return;
  if (g_python.is_finalizing() != 0) return;
  std::uint64_t interpreter = 0;
  memory.copy(&interpreter, g_python.runtime + g_python.lists.runtime_interpreters, sizeof interpreter);
  for (unsigned i = 0; i < kMostInterpreters && may_be_object(interpreter); ++i) {
    std::uint64_t state = 0, next = 0;
    const Piece pieces[] = {{&state, interpreter + g_python.lists.interpreter_threads, sizeof state},
                            {&next, interpreter + g_python.lists.interpreter_next, sizeof next}};
    if (memory.copy(pieces, 2) != 2 || !may_be_object(state)) return;
    for (unsigned k = 0; k < kMostThreads && state != 0; ++k)
      state = next_thread(memory, interpreter, state, threads, count);
    interpreter = next;
  }
}

}  // namespace

void python_threads_find(PythonThread* threads, unsigned count) { find_threads(Memory(), threads, count); }

unsigned python_frames_of_child(int child, PythonFrame* out, unsigned most) {
  const Memory memory(child);
  PythonThread thread{static_cast<std::uint32_t>(child), 0, 0};
  find_threads(memory, &thread, 1);
  unsigned count = 0;
  if (thread.state != 0) read_running(memory, thread, out, most, count, *new (g_running) RunningWork);
  return count;
}

PythonReading python_frames_of(const PythonThread& thread, PythonFrame* out, unsigned most, unsigned& count) {
  count = 0;
  if (!g_ready.load(std::memory_order_acquire) || thread.state == 0) return PythonReading::kGone;
  if (g_python.is_finalizing() != 0) return PythonReading::kGone;
  const int kept = errno;
  const PythonReading reading = read_running(Memory(), thread, out, most, count, *new (g_running) RunningWork);
  errno = kept;
  return g_python.is_finalizing() != 0 ? PythonReading::kGone : reading;
}

bool python_frames_find() {
  return find([](PythonSymbols& symbols) { find_python_symbols(symbols); });
}

bool python_frames_find_among(const link_map* first, const link_map* last) {
  return find([=](PythonSymbols& symbols) { find_python_symbols(first, last, symbols); });
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
