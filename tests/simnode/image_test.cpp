// Modules that are not text: cubins made here byte by byte, and fatbins around PTX and cubin in every compression.
#include "node_test.h"

#include <elf.h>
#include <zstd.h>
#include <cstring>
#include <random>

using Images = NodeTest;

namespace {

template <class T>
void put(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A cubin with one kernel `scale(ptr, ptr, float)` of 24 registers and one global `weights` of 40 bytes.
class Cubin {
 public:
  std::string build() {
    std::string names{'\0'};
    auto name = [&](const char* text) {
      auto at = static_cast<uint32_t>(names.size());
      names += text;
      names += '\0';
      return at;
    };
    Elf64_Sym kernel{name("scale"), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0x10, 4, 0, 128};
    Elf64_Sym device{name("inner"), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 4, 0, 128};
    Elf64_Sym global{name("weights"), ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, 4, 0, 40};
    std::string symbols;
    for (const Elf64_Sym& symbol : {Elf64_Sym{}, kernel, device, global}) put(&symbols, symbol);
    add(name(".strtab"), SHT_STRTAB, names, 0);  // replaced below, when all names are known
    add(name(".symtab"), SHT_SYMTAB, symbols, 1);
    add(name(".nv.info"), SHT_LOPROC, record(0x2f, {1, 24}), 1);
    add(name(".text.scale"), SHT_PROGBITS, std::string(128, '\0'), 0);
    std::string parameters = record(0x17, {0, 2u | 16u << 16, 0x00f000u | 4u << 18});
    parameters += record(0x17, {0, 1u | 8u << 16, 0x00f000u | 8u << 18});
    parameters += record(0x17, {0, 0u, 0x00f000u | 8u << 18});
    add(name(".nv.info.scale"), SHT_LOPROC, parameters, 1);
    sections_[0].content = names;
    return assemble();
  }

 private:
  struct Section {
    Elf64_Shdr header;
    std::string content;
  };

  static std::string record(unsigned char attribute, std::vector<uint32_t> words) {
    std::string out{'\x04', static_cast<char>(attribute)};
    put(&out, static_cast<uint16_t>(words.size() * 4));
    for (uint32_t word : words) put(&out, word);
    return out;
  }

  void add(uint32_t name, uint32_t type, std::string content, uint32_t link) {
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = type;
    header.sh_link = link;
    sections_.push_back({header, std::move(content)});
  }

  std::string assemble() {
    Elf64_Ehdr header{};
    memcpy(header.e_ident, ELFMAG, 4);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = 190;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(sections_.size() + 1);
    header.e_shstrndx = 1;
    std::string out(sizeof header, '\0'), table(sizeof(Elf64_Shdr), '\0');
    for (Section& section : sections_) {
      section.header.sh_offset = out.size();
      section.header.sh_size = section.content.size();
      put(&table, section.header);
      out += section.content;
    }
    header.e_shoff = out.size();
    memcpy(out.data(), &header, sizeof header);
    return out + table;
  }

  std::vector<Section> sections_;
};

enum class Pack { kPlain, kLz4, kZstd };

// One LZ4 block of literals only, which every decoder must read.
std::string lz4_literals(const std::string& text) {
  std::string out{'\xf0'};
  size_t rest = text.size() - 15;
  for (; rest >= 255; rest -= 255) out += '\xff';
  out += static_cast<char>(rest);
  return out + text;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string entry(uint16_t kind, uint32_t architecture, const std::string& content, Pack pack) {
  std::string packed = pack == Pack::kLz4 ? lz4_literals(content) : pack == Pack::kZstd ? zstd(content) : content;
  std::string padded = packed + std::string((8 - packed.size() % 8) % 8, '\0');
  std::string out;
  put(&out, kind);
  put(&out, uint16_t{0x101});
  put(&out, uint32_t{64});
  put(&out, uint64_t{padded.size()});
  put(&out, static_cast<uint32_t>(pack == Pack::kPlain ? 0 : packed.size()));
  put(&out, uint64_t{0});
  put(&out, architecture);
  put(&out, uint64_t{0});
  put(&out, uint64_t{pack == Pack::kLz4 ? 0x2000u : pack == Pack::kZstd ? 0x8000u : 0u});
  put(&out, uint64_t{0});
  put(&out, uint64_t{pack == Pack::kPlain ? 0 : content.size()});
  return out + padded;
}

std::string fatbin(const std::string& entries) {
  std::string out;
  put(&out, uint32_t{0xba55ed50});
  put(&out, uint16_t{1});
  put(&out, uint16_t{16});
  put(&out, uint64_t{entries.size()});
  return out + entries;
}

bool has_kernel(const std::string& image, const char* name) {
  CUmodule module;
  CUfunction found;
  CUresult loaded = cuModuleLoadData(&module, image.data());
  EXPECT_EQ(loaded, CUDA_SUCCESS);
  return loaded == CUDA_SUCCESS && cuModuleGetFunction(&found, module, name) == CUDA_SUCCESS;
}

}  // namespace

TEST_F(Images, CubinsTellKernelsParametersAndGlobals) {
  std::string cubin = Cubin().build();
  CUmodule module;
  CUfunction scale, other;
  OK(cuModuleLoadData(&module, cubin.data()));
  OK(cuModuleGetFunction(&scale, module, "scale"));
  EXPECT_EQ(cuModuleGetFunction(&other, module, "inner"), CUDA_ERROR_NOT_FOUND);  // a device function
  const size_t offsets[] = {0, 8, 16}, sizes[] = {8, 8, 4};
  for (size_t i = 0; i < 3; ++i) {
    size_t offset, bytes;
    OK(cuFuncGetParamInfo(scale, i, &offset, &bytes));
    EXPECT_EQ(offset, offsets[i]);
    EXPECT_EQ(bytes, sizes[i]);
  }
  int registers;
  OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, scale));
  EXPECT_EQ(registers, 24);
  size_t bytes;
  OK(cuModuleGetGlobal(nullptr, &bytes, module, "weights"));
  EXPECT_EQ(bytes, 40u);
}

TEST_F(Images, FatbinsAreReadInEveryCompression) {
  std::string ptx = kPtx;
  for (Pack pack : {Pack::kPlain, Pack::kLz4, Pack::kZstd}) {
    EXPECT_TRUE(has_kernel(fatbin(entry(1, 80, ptx, pack)), "mixed")) << static_cast<int>(pack);
    EXPECT_TRUE(has_kernel(fatbin(entry(2, 90, Cubin().build(), pack)), "scale")) << static_cast<int>(pack);
  }
}

TEST_F(Images, FatbinsGiveTheEntryOfTheDevice) {
  std::string old_ptx = ".version 7.0\n.target sm_70\n.visible .entry from_70() { ret; }\n";
  std::string new_ptx = ".version 7.0\n.target sm_80\n.visible .entry from_80() { ret; }\n";
  std::string foreign = entry(2, 120, Cubin().build(), Pack::kPlain);
  EXPECT_TRUE(
      has_kernel(fatbin(foreign + entry(1, 70, old_ptx, Pack::kPlain) + entry(1, 80, new_ptx, Pack::kLz4)), "from_80"));
  EXPECT_TRUE(
      has_kernel(fatbin(entry(1, 80, new_ptx, Pack::kPlain) + entry(2, 90, Cubin().build(), Pack::kPlain)), "scale"));
  CUmodule module;
  EXPECT_EQ(cuModuleLoadData(&module, fatbin(foreign).data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(Images, WrappersPointToTheFatbin) {
  std::string inner = fatbin(entry(1, 80, kPtx, Pack::kPlain));
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* content;
    void* unused = nullptr;
  } wrapper{.content = inner.data()};
  CUmodule module;
  OK(cuModuleLoadFatBinary(&module, &wrapper));
}

// Whatever is broken, the answer is an error code: no crash, no endless loop. Loading goes through the file form, whose
// length is known; a guard page of zeros behind every copy stands for the memory behind a real program's image.
TEST_F(Images, DamagedOnesAreErrorsAndNeverCrash) {
  std::mt19937 random(7);
  std::string ptx = kPtx;
  const std::string originals[] = {Cubin().build(), fatbin(entry(1, 80, ptx, Pack::kLz4)),
                                   fatbin(entry(1, 80, ptx, Pack::kZstd) + entry(2, 90, Cubin().build(), Pack::kLz4)),
                                   ptx};
  int errors = 0, rounds = 0;
  for (const std::string& original : originals)
    for (int i = 0; i < 300; ++i) {
      std::string damaged = original;
      for (int flips = 0; flips < 4; ++flips)
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      damaged += std::string(4096, '\0');
      CUmodule module;
      CUresult result = cuModuleLoadData(&module, damaged.data());
      ++rounds;
      if (result != CUDA_SUCCESS)
        ++errors;
      else
        cuModuleUnload(module);
    }
  EXPECT_GT(errors, rounds / 20);
}
