// symbols.cpp: see symbols.h.
#include "symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwelf.h>
#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <cstdlib>

#include "answer/file_name.h"
#include "elf_file.h"
#include "trace.h"

namespace hostprobe::analysis {

namespace {

constexpr char kDebugFolder[] = "/usr/lib/debug/.build-id/";

std::string build_id_of(Elf* elf) {
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
  std::string text;
  for (ssize_t i = 0; i < size; ++i) text += fmt::format("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
  return text;
}

bool is_function(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0;
}

Elf_Scn* find_table(Elf* elf, GElf_Word type, GElf_Shdr& header) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type && header.sh_entsize > 0) return section;
  }
  return nullptr;
}

}  // namespace

SymbolTable::SymbolTable(const std::string& path, const std::string& build_id) {
  // A stripped library keeps its dynamic symbols only; its debug file, where one is installed, has all of them.
  if (build_id.size() > 2) load(kDebugFolder + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug", build_id);
  if (symbols_.empty()) load(path, build_id);
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const Symbol& l, const Symbol& r) { return l.address < r.address; });
}

void SymbolTable::load(const std::string& path, const std::string& build_id) {
  file_ = std::make_shared<ElfFile>(path);
  Elf* elf = file_->get();
  if (elf == nullptr || (!build_id.empty() && build_id_of(elf) != build_id)) return;
  GElf_Shdr header;
  Elf_Scn* section = find_table(elf, SHT_SYMTAB, header);
  if (section == nullptr) section = find_table(elf, SHT_DYNSYM, header);
  Elf_Data* data = section == nullptr ? nullptr : elf_getdata(section, nullptr);
  if (data == nullptr) return;
  const auto count = static_cast<int>(std::min<std::uint64_t>(header.sh_size / header.sh_entsize, INT32_MAX));
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr || !is_function(symbol)) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && *name != 0) symbols_.push_back({symbol.st_value, symbol.st_size, name});
  }
}

std::string_view SymbolTable::covering(std::uint64_t address, std::uint64_t& offset) const {
  auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](std::uint64_t a, const Symbol& symbol) { return a < symbol.address; });
  if (at == symbols_.begin()) return {};
  --at;
  if (address - at->address >= at->size) return {};
  offset = address - at->address;
  return at->name;
}

std::string CodePlace::text() const {
  if (library == "unknown") return fmt::format("{:#x}", offset);
  if (function.empty()) return fmt::format("{}+{:#x}", library, offset);
  return fmt::format("{}+{:#x} ({})", function, offset, library);
}

std::string CodePlace::caller_text() const {
  return function.empty() ? text() : fmt::format("{} ({})", function, library);
}

CodePlace Symbols::place(const Trace& trace, std::uint64_t address, bool is_return_address) {
  CodePlace place;
  const Module* module = trace.module_at(address);
  if (module == nullptr) {
    place.library = "unknown";
    place.offset = address;
    return place;
  }
  place.library = base_name(module->path);
  place.offset = address - module->bias;
  std::uint64_t offset = 0;
  const std::uint64_t call = place.offset - (is_return_address ? 1 : 0);
  std::string_view name;
  {
    const std::lock_guard lock(mutex_);
    name = table_of(*module).covering(call, offset);
  }
  if (!name.empty()) {
    place.function = demangle(std::string(name));
    place.offset = offset + (is_return_address ? 1 : 0);
  }
  return place;
}

const SymbolTable& Symbols::table_of(const Module& module) {
  auto& table = tables_[{module.path, module.build_id}];
  if (!table) table = std::make_unique<SymbolTable>(module.path, module.build_id);
  return *table;
}

std::vector<std::string> stack_text(const Trace& trace, const Stack& stack, Symbols& symbols) {
  std::vector<std::string> lines;
  for (const std::uint32_t id : stack.python) {
    if (const std::string_view text = trace.strings.text(id); !text.empty()) lines.emplace_back(text);
  }
  if (!lines.empty()) return lines;
  for (const std::uint64_t frame : stack.native) lines.push_back(symbols.place(trace, frame).text());
  return lines;
}

std::string demangle(const std::string& name) { return name.starts_with("_Z") ? demangle_type(name) : name; }

std::string demangle_type(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

}  // namespace hostprobe::analysis
