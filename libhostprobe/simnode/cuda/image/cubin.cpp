// Reads a cubin: an ELF file whose entry functions are marked in st_other and whose parameters are listed, one record
// each, in sections `.nv.info.KERNEL`. Only names, sizes and counts are read. Every offset is checked: the content comes
// from the program and may be anything.
#include "image.h"

#include <elf.h>
#include <algorithm>
#include <cstring>

namespace simnode {

namespace {

constexpr unsigned char kEntryFlag = 0x10;    // st_other of a kernel
constexpr unsigned kParameterRecord = 0x17;   // EIATTR_KPARAM_INFO
constexpr unsigned kMaxThreadsRecord = 0x05;  // EIATTR_MAX_THREADS
constexpr unsigned kRegistersRecord = 0x2f;   // EIATTR_REGCOUNT, in the section for all kernels

class Elf {
 public:
  explicit Elf(const std::string& content) : content_(content.data()), bytes_(content.size()) {}

  bool open() {
    if (bytes_ < sizeof(Elf64_Ehdr)) return false;
    memcpy(&header_, content_, sizeof header_);
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != 190 /* EM_CUDA */) return false;
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shstrndx >= header_.e_shnum) return false;
    uint64_t table_bytes = uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr);
    return header_.e_shoff <= bytes_ && table_bytes <= bytes_ - header_.e_shoff;
  }

  unsigned sections() const { return header_.e_shnum; }

  Elf64_Shdr section(unsigned index) const {
    Elf64_Shdr section;
    memcpy(&section, content_ + header_.e_shoff + index * sizeof section, sizeof section);
    return section;
  }

  bool holds(const Elf64_Shdr& section) const {
    return section.sh_type != SHT_NOBITS && section.sh_offset <= bytes_ &&
           section.sh_size <= bytes_ - section.sh_offset;
  }

  std::string text(unsigned strings, uint64_t offset) const {
    if (strings >= header_.e_shnum) return "";
    Elf64_Shdr table = section(strings);
    if (!holds(table) || offset >= table.sh_size) return "";
    const char* begin = content_ + table.sh_offset + offset;
    return std::string(begin, strnlen(begin, table.sh_size - offset));
  }

  std::string name(const Elf64_Shdr& section) const { return text(header_.e_shstrndx, section.sh_name); }
  const char* at(const Elf64_Shdr& section) const { return content_ + section.sh_offset; }

 private:
  const char* content_;
  uint64_t bytes_;
  Elf64_Ehdr header_{};
};

// Records: format byte, attribute byte, then either a 16-bit value or (format 4) a 16-bit length and as many bytes.
void read_records(const char* records, size_t bytes, KernelImage* kernel) {
  std::vector<std::pair<unsigned, Parameter>> parameters;
  for (size_t at = 0; at + 4 <= bytes;) {
    auto format = static_cast<unsigned char>(records[at]);
    auto attribute = static_cast<unsigned char>(records[at + 1]);
    uint16_t length;
    memcpy(&length, records + at + 2, 2);
    at += 4;
    if (format != 4) continue;
    if (length > bytes - at) break;
    if (attribute == kParameterRecord && length == 12) {
      uint16_t ordinal, offset;
      uint32_t packed;
      memcpy(&ordinal, records + at + 4, 2);
      memcpy(&offset, records + at + 6, 2);
      memcpy(&packed, records + at + 8, 4);
      parameters.push_back({ordinal, {offset, packed >> 18}});
    }
    if (attribute == kMaxThreadsRecord && length == 12) {
      uint32_t threads[3];
      memcpy(threads, records + at, sizeof threads);
      uint64_t product = uint64_t{threads[0]} * threads[1] * threads[2];
      if (product > 0 && product <= 1024) kernel->max_threads = static_cast<int>(product);
    }
    at += length;
  }
  std::sort(parameters.begin(), parameters.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (auto& parameter : parameters) kernel->parameters.push_back(parameter.second);
}

int registers_of(const char* records, size_t bytes, uint32_t wanted) {
  for (size_t at = 0; at + 12 <= bytes; at += 12) {
    uint32_t symbol, registers;
    memcpy(&symbol, records + at + 4, 4);
    memcpy(&registers, records + at + 8, 4);
    auto attribute = static_cast<unsigned char>(records[at + 1]);
    if (attribute == kRegistersRecord && symbol == wanted) return static_cast<int>(registers);
  }
  return 0;
}

void describe(const Elf& elf, uint32_t symbol, KernelImage* kernel) {
  kernel->layout_known = false;
  for (unsigned i = 0; i < elf.sections(); ++i) {
    Elf64_Shdr section = elf.section(i);
    std::string name = elf.name(section);
    // Every record of this section is 12 bytes long: header, symbol, value.
    if (name == ".nv.info" && elf.holds(section))
      if (int registers = registers_of(elf.at(section), section.sh_size, symbol)) kernel->registers = registers;
    if (name == ".nv.shared." + kernel->name) kernel->static_shared_bytes = section.sh_size;
    if (name == ".nv.info." + kernel->name && elf.holds(section)) {
      kernel->layout_known = true;
      read_records(elf.at(section), section.sh_size, kernel);
    }
  }
}

void read_symbol(const Elf& elf, const Elf64_Shdr& table, uint32_t index, const Elf64_Sym& symbol, Image* image) {
  std::string name = elf.text(table.sh_link, symbol.st_name);
  if (name.empty() || symbol.st_shndx == SHN_UNDEF) return;
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (type == STT_FUNC && (symbol.st_other & kEntryFlag) != 0) {
    KernelImage kernel;
    kernel.name = name;
    describe(elf, index, &kernel);
    image->kernels.push_back(kernel);
  }
  if (type == STT_OBJECT && symbol.st_size != 0) image->globals.push_back({name, symbol.st_size});
}

}  // namespace

CUresult read_cubin(const std::string& content, Image* image) {
  Elf elf(content);
  if (!elf.open()) return CUDA_ERROR_INVALID_IMAGE;
  bool symbols = false;
  for (unsigned i = 0; i < elf.sections(); ++i) {
    Elf64_Shdr table = elf.section(i);
    if (table.sh_type != SHT_SYMTAB || !elf.holds(table)) continue;
    symbols = true;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, elf.at(table) + at, sizeof symbol);
      read_symbol(elf, table, static_cast<uint32_t>(at / sizeof symbol), symbol, image);
    }
  }
  return symbols ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace simnode
