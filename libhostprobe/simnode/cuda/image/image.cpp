// Tells the formats apart (see image.h), takes a copy of the image, and reads the simulated driver's own format.
//
// cuModuleLoadData is given no length: the image itself says how long it is, and a damaged one lies. So the copy is taken
// through process_vm_readv, where memory that is not there is an error code instead of a signal; all readers then work on
// a string that ends where it says.
#include "image.h"

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

namespace simnode {

namespace {

constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint32_t kFatbinWrapperMagic = 0x466243b1;
constexpr size_t kMaxBytes = size_t{4} << 30;
constexpr size_t kStepBytes = 256 << 10;

// Appends up to `bytes` from memory; fewer where memory ends.
void append_readable(const char* from, size_t bytes, std::string* to) {
  size_t before = to->size();
  to->resize(before + bytes);
  iovec local{to->data() + before, bytes}, remote{const_cast<char*>(from), bytes};
  ssize_t read = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (read < 0 && errno != EFAULT) {  // forbidden here: then the program must be right about its image
    memcpy(to->data() + before, from, bytes);
    return;
  }
  to->resize(before + static_cast<size_t>(std::max<ssize_t>(read, 0)));
}

bool copy_of(const char* from, size_t bytes, std::string* to) {
  if (bytes > kMaxBytes) return false;
  while (to->size() < bytes) {
    size_t before = to->size();
    append_readable(from + before, std::min(bytes - before, kStepBytes), to);
    if (to->size() == before) return false;
  }
  return true;
}

// Text up to its end, which must come before the memory's.
bool copy_of_text(const char* from, std::string* to) {
  for (;;) {
    size_t before = to->size();
    if (before > kMaxBytes) return false;
    // Not across a page border in one step: the text may end at the last byte of the last page.
    size_t to_border = 4096 - reinterpret_cast<uintptr_t>(from + before) % 4096;
    append_readable(from + before, to_border, to);
    if (to->size() == before) return false;
    size_t end = to->find('\0', before);
    if (end == std::string::npos) continue;
    to->resize(end);
    return true;
  }
}

template <class T>
T value_at(const std::string& content, size_t offset) {
  T value{};
  if (offset + sizeof value <= content.size()) memcpy(&value, content.data() + offset, sizeof value);
  return value;
}

size_t elf_bytes(const std::string& head) {
  auto header = value_at<Elf64_Ehdr>(head, 0);
  return std::max(header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr),
                  header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
}

bool is_text(const std::string& head) {
  size_t checked = std::min<size_t>(head.size(), 16);
  for (size_t i = 0; i < checked && head[i] != '\0'; ++i) {
    auto c = static_cast<unsigned char>(head[i]);
    if (c >= 0x7f || (c < 0x20 && c != '\n' && c != '\r' && c != '\t')) return false;
  }
  return !head.empty() && head[0] != '\0';
}

bool read_own_kernel(std::istringstream& words, const std::string& name, Image* image) {
  KernelImage kernel;
  kernel.name = name;
  size_t offset = 0;
  for (size_t bytes; words >> bytes;) {
    size_t alignment = bytes >= 8 ? 8 : bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;
    offset = (offset + alignment - 1) / alignment * alignment;
    kernel.parameters.push_back({offset, bytes});
    offset += bytes;
  }
  image->kernels.push_back(kernel);
  return words.eof();
}

CUresult read_own(const std::string& text, Image* image) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string what, name;
    words >> what >> name;
    if (what.empty() || what[0] == '#') continue;
    size_t bytes = 0;
    if (what == "global" && !name.empty() && words >> bytes && bytes != 0) {
      image->globals.push_back({name, bytes});
      continue;
    }
    if (what != "kernel" || name.empty() || !read_own_kernel(words, name, image)) return CUDA_ERROR_INVALID_IMAGE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult read_image(const void* from, size_t bytes, int compute_capability, Image* image) {
  auto* content = static_cast<const char*>(from);
  if (content == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string head, whole;
  append_readable(content, bytes == 0 ? 64 : std::min<size_t>(bytes, 64), &head);
  switch (value_at<uint32_t>(head, 0)) {
    case kFatbinWrapperMagic: {
      auto* inner = value_at<const char*>(head, 8);
      std::string inner_head;
      if (inner != nullptr) append_readable(inner, 16, &inner_head);
      if (value_at<uint32_t>(inner_head, 0) != kFatbinMagic) return CUDA_ERROR_INVALID_IMAGE;
      return read_image(inner, 0, compute_capability, image);
    }
    case kFatbinMagic: {
      uint64_t entries = value_at<uint64_t>(head, 8);
      if (entries > kMaxBytes || !copy_of(content, value_at<uint16_t>(head, 6) + entries, &whole))
        return CUDA_ERROR_INVALID_IMAGE;
      return read_fatbin(whole, compute_capability, image);
    }
    case 0x464c457f: /* ELF */
      if (!copy_of(content, bytes == 0 ? elf_bytes(head) : bytes, &whole)) return CUDA_ERROR_INVALID_IMAGE;
      return read_cubin(whole, image);
    default:
      break;
  }
  if (!is_text(head)) return CUDA_ERROR_INVALID_IMAGE;
  if (bytes != 0)
    whole.assign(content, strnlen(content, bytes));
  else if (!copy_of_text(content, &whole))
    return CUDA_ERROR_INVALID_IMAGE;
  if (whole.rfind("simnode-module 1", 0) == 0) return read_own(whole, image);
  return read_ptx(whole, image);
}

}  // namespace simnode
