// python_process.cpp: see python_process.h.
#include "python_process.h"

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <regex>
#include <set>

#include "python_lines.h"
#include "trace/elf_file.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostPythonFrames = 256;
constexpr std::size_t kRuntimeBytes = 8192;       // the list of interpreters is near its beginning
constexpr std::size_t kInterpreterBytes = 65536;  // and their list of threads within this
constexpr std::uint64_t kMostTextBytes = 4096, kMostTableBytes = 1 << 20;

// glibc's struct pthread holds the kernel's thread id there; in another libc the ids that are read fit no thread. And where the
// program's own addresses end.
#if defined(__aarch64__)
constexpr std::uint64_t kTidInThread = 0xd0;
constexpr unsigned kAddressBits = 48;
#else
constexpr std::uint64_t kTidInThread = 0x2d0;
constexpr unsigned kAddressBits = 47;
#endif

// A thread state begins with: the one before, the next one, the interpreter. In every version so far.
struct ThreadHead {
  std::uint64_t before, next, interpreter;
};

bool may_be_object(std::uint64_t address) { return address % 8 == 0 && address > 4096 && address >> kAddressBits == 0; }

template <typename T>
T field(const char* raw, std::size_t at) {
  T value;
  std::memcpy(&value, raw + at, sizeof value);
  return value;
}

// Addresses of the names that a file defines for others.
std::map<std::string, std::uint64_t> exported(const std::string& path, const std::set<std::string>& wanted) {
  std::map<std::string, std::uint64_t> found;
  const ElfFile file(path);
  if (file.get() == nullptr) return found;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (std::size_t i = 0; data != nullptr && i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
      const char* name = elf_strptr(file.get(), header.sh_link, symbol.st_name);
      if (name != nullptr && wanted.contains(name)) found[name] = symbol.st_value;
    }
  }
  return found;
}

// Versions before 3.11 say theirs only in a function and in the file's name.
std::uint32_t version_in_path(const std::string& path) {
  static const std::regex pattern("python3\\.(\\d+)");
  std::smatch found;
  if (!std::regex_search(path, found, pattern)) return 0;
  return 3u << 24 | static_cast<std::uint32_t>(std::stoul(found[1])) << 16;
}

std::string utf8(std::uint32_t point) {
  const bool is_odd = point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0xd800 && point < 0xe000);
  if (is_odd || point > 0x10ffff) return "?";
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 63))};
  if (point < 0x10000) return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 63)), byte(0x80 | (point & 63))};
  return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 63)), byte(0x80 | (point >> 6 & 63)),
          byte(0x80 | (point & 63))};
}

}  // namespace

std::optional<PythonProcess> PythonProcess::find(pid_t pid, const std::vector<Module>& modules) {
  const std::set<std::string> names = {"_PyRuntime", "Py_Version", "PyCode_Type", "PyUnicode_Type", "PyBytes_Type"};
  for (const Module& module : modules) {
    if (module.path.find("python") == std::string::npos && &module != &modules.front()) continue;
    auto symbols = exported(module.path, names);
    if (!symbols.contains("_PyRuntime") || !symbols.contains("PyCode_Type")) continue;
    PythonProcess python(pid);
    python.runtime_ = module.bias + symbols["_PyRuntime"];
    python.code_type_ = module.bias + symbols["PyCode_Type"];
    python.text_type_ = module.bias + symbols["PyUnicode_Type"];
    python.bytes_type_ = module.bias + symbols["PyBytes_Type"];
    std::uint32_t version = version_in_path(module.path);
    if (symbols.contains("Py_Version")) {
      const auto said = ProcessMemory(pid).value<std::uint64_t>(module.bias + symbols["Py_Version"]);
      version = said ? static_cast<std::uint32_t>(*said) : 0;
    }
    if (python.read_layout(version, python.runtime_)) return python;
  }
  return std::nullopt;
}

bool PythonProcess::read_layout(std::uint32_t version, std::uint64_t runtime) {
  for (const KnownLayout& known : kKnownLayouts) {
    if (known.version != version >> 16) continue;
    layout_ = *known.layout;
    return true;
  }
  const OffsetTable* table = offset_table_of(version >> 16);
  if (table == nullptr) return false;
  std::uint64_t words[kMostOffsetWords];
  if (!ProcessMemory(pid_).copy(words, runtime, sizeof words)) return false;
  const bool free_threaded = words[2] != 0;
  if (words[0] != kOffsetCookie || words[1] != version || free_threaded) return false;
  layout_ = layout_in_words(words, *table);
  return layout_.frame_bytes <= kMostFrameBytes && layout_.code_bytes <= kMostCodeBytes &&
         layout_.text_compact_bytes <= kMostTextHeadBytes;
}

// Where the runtime keeps its interpreters, and they their threads, moves with every version. But it is known what the
// first thread state of an interpreter looks like: it has none before it, and names the interpreter it was reached from.
void PythonProcess::look_for_threads() {
  threads_.clear();
  pointers_.clear();
  const ProcessMemory memory(pid_);
  MemoryPages pages(pid_);
  std::vector<std::uint64_t> words(kRuntimeBytes / 8), inside(kInterpreterBytes / 8);
  words.resize(memory.copy_some(words.data(), runtime_, kRuntimeBytes) / 8);
  std::set<std::uint64_t> seen;
  for (const std::uint64_t interpreter : words) {
    if (!may_be_object(interpreter) || !seen.insert(interpreter).second) continue;
    const std::size_t there = memory.copy_some(inside.data(), interpreter, kInterpreterBytes) / 8;
    for (std::size_t i = 0; i < there; ++i) {
      if (!may_be_object(inside[i]) || inside[i] == interpreter) continue;
      const auto head = pages.value<ThreadHead>(inside[i]);
      if (!head || head->interpreter != interpreter || head->before != 0) continue;
      look_in(pages, interpreter, inside[i]);
      break;
    }
  }
}

void PythonProcess::look_in(MemoryPages& memory, std::uint64_t interpreter, std::uint64_t first_thread) {
  constexpr unsigned kMostThreads = 100000;
  unsigned count = 0;
  for (std::uint64_t at = first_thread; may_be_object(at) && count < kMostThreads; ++count) {
    const auto head = memory.value<ThreadHead>(at);
    const auto pointer = memory.value<std::uint64_t>(at + layout_.thread_id);
    if (!head || !pointer || head->interpreter != interpreter) return;
    threads_.emplace(*pointer, at);
    if (const auto tid = memory.value<std::uint32_t>(*pointer + kTidInThread)) pointers_.emplace(*tid, *pointer);
    at = head->next;
  }
}

std::uint64_t PythonProcess::thread_pointer_of(std::uint32_t tid) const {
  const auto found = pointers_.find(tid);
  return found == pointers_.end() ? 0 : found->second;
}

std::vector<PythonFrameCopy> PythonProcess::copy_frames(std::uint64_t thread_pointer) {
  std::vector<PythonFrameCopy> frames;
  const auto state = threads_.find(thread_pointer);
  if (state == threads_.end()) return frames;
  named_.forget();
  MemoryPages memory(pid_);
  // The state may have been freed since the threads were looked for.
  if (memory.value<std::uint64_t>(state->second + layout_.thread_id) != thread_pointer) return frames;
  auto at = memory.value<std::uint64_t>(state->second + layout_.thread_frame);
  if (at && layout_.by_c_frame) at = memory.value<std::uint64_t>(*at + layout_.c_frame_frame);
  char raw[kMostFrameBytes];
  for (std::size_t steps = 0; at && may_be_object(*at) && steps < kMostPythonFrames; ++steps) {
    if (!memory.copy(raw, *at, layout_.frame_bytes)) break;
    constexpr std::uint64_t kTags = 7;  // 3.14 marks references in the lowest bits
    PythonFrameCopy frame;
    frame.code = field<std::uint64_t>(raw, layout_.frame_code) & ~kTags;
    if (layout_.frame_owner == 0) {
      frame.instruction = static_cast<std::uint64_t>(std::int64_t{field<std::int32_t>(raw, layout_.frame_instruction)});
    } else {
      frame.instruction = field<std::uint64_t>(raw, layout_.frame_instruction);
      frame.owner = static_cast<unsigned char>(raw[layout_.frame_owner]);
    }
    if (frame.owner < kFirstNotPython && may_be_object(frame.code)) frames.push_back(frame);
    at = field<std::uint64_t>(raw, layout_.frame_back);
  }
  return frames;
}

std::string PythonProcess::string_at(std::uint64_t address) {
  char raw[kMostTextHeadBytes];
  if (!may_be_object(address) || !named_.copy(raw, address, layout_.text_compact_bytes)) return "";
  if (field<std::uint64_t>(raw, kObjectType) != text_type_) return "";
  const std::uint64_t length = field<std::uint64_t>(raw, layout_.text_length);
  const TextState state = text_state(layout_, field<std::uint32_t>(raw, layout_.text_state));
  const unsigned width = state.width;
  if (!state.is_compact || length > kMostTextBytes) return "";
  std::vector<char> points(length * width);
  const std::uint64_t start = address + (state.is_ascii ? layout_.text_ascii_bytes : layout_.text_compact_bytes);
  if (!named_.copy(points.data(), start, points.size())) return "";
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    std::uint32_t point = 0;
    std::memcpy(&point, points.data() + i * width, width);
    text += utf8(point);
  }
  return text;
}

std::string PythonProcess::text(const PythonFrameCopy& frame) {
  char code[kMostCodeBytes];
  if (!named_.copy(code, frame.code, layout_.code_bytes)) return "";
  if (field<std::uint64_t>(code, kObjectType) != code_type_) return "";
  const auto value = static_cast<std::int64_t>(frame.instruction);
  std::int64_t offset = layout_.lines == LineTable::kRanges ? value * 2 : value;
  constexpr unsigned kOwnedByGenerator = 1;
  if (layout_.frame_owner != 0) {
    offset = value - static_cast<std::int64_t>(frame.code + layout_.code_start);
    // Before its first real instruction a frame is not in Python's own tracebacks either.
    const bool has_begun = offset >= std::int64_t{field<std::int32_t>(code, layout_.code_traceable)} * 2;
    if (!has_begun && frame.owner != kOwnedByGenerator) return "";
  }
  const std::string name = string_at(field<std::uint64_t>(code, layout_.code_name));
  const std::string file = string_at(field<std::uint64_t>(code, layout_.code_file));
  const std::uint64_t table = field<std::uint64_t>(code, layout_.code_lines);
  if (name.empty()) return "";
  std::vector<unsigned char> bytes;
  const auto table_type = named_.value<std::uint64_t>(table + kObjectType);
  const auto length = named_.value<std::uint64_t>(table + kBytesLength);
  if (table_type == bytes_type_ && length && *length <= kMostTableBytes) {
    bytes.resize(*length);
    if (!named_.copy(bytes.data(), table + kBytesStart, bytes.size())) bytes.clear();
  }
  const int line = line_of(layout_.lines, bytes, field<std::int32_t>(code, layout_.code_first_line), offset);
  const std::string place = file.substr(file.rfind('/') + 1);
  return line > 0 ? fmt::format("{} ({}:{})", name, place, line) : fmt::format("{} ({})", name, place);
}

}  // namespace hostprobe::analysis
