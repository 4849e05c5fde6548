// elf_file.h: an ELF file opened for reading by libelf.
//
// Room 3.
#pragma once

#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <string>

namespace hostprobe::analysis {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    elf_version(EV_CURRENT);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ >= 0) elf_ = elf_begin(file_, ELF_C_READ_MMAP, nullptr);
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Elf* get() const { return elf_ != nullptr && elf_kind(elf_) == ELF_K_ELF ? elf_ : nullptr; }

 private:
  int file_ = -1;
  Elf* elf_ = nullptr;
};

}  // namespace hostprobe::analysis
