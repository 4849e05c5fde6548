// Reads a fatbin: a header, then entries of PTX or cubin for one architecture each, plain or compressed (LZ4 blocks, or
// zstd since CUDA 12.8). The entry that a real driver would take for the simulated compute capability is read.
//
//   0xba55ed50 | version u16 | header bytes u16 | bytes of all entries u64
//   entry: kind u16 (1 PTX, 2 cubin) | version u16 | header bytes u32 | content bytes u64 | compressed bytes u32 | …
//          at 28: architecture u32 | at 40: flags u64 | at 56: uncompressed bytes u64 | content
#include "image.h"
#include "node/say.h"

#include <dlfcn.h>
#include <cstring>
#include <string_view>

namespace simnode {

namespace {

constexpr uint16_t kPtx = 1, kCubin = 2;
constexpr uint64_t kLz4Flag = 0x2000, kZstdFlag = 0x8000;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of one entry, expanded

struct Entry {
  uint16_t kind = 0;
  uint32_t architecture = 0;
  uint64_t flags = 0;
  const char* content = nullptr;
  uint64_t bytes = 0;
  uint32_t compressed_bytes = 0;
  uint64_t uncompressed_bytes = 0;
};

template <class T>
T at(const char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

// One LZ4 block: runs of literals and of references into what has been written. False when it is damaged.
bool expand_lz4(const char* from, size_t bytes, std::string* to, size_t wanted) {
  size_t in = 0;
  auto length = [&](size_t base) {
    if (base != 15) return base;
    for (unsigned char more = 255; more == 255 && in < bytes; base += more)
      more = static_cast<unsigned char>(from[in++]);
    return base;
  };
  while (in < bytes) {
    auto token = static_cast<unsigned char>(from[in++]);
    size_t literals = length(token >> 4);
    if (literals > bytes - in || to->size() + literals > wanted) return false;
    to->append(from + in, literals);
    in += literals;
    if (in >= bytes) break;  // the last sequence has literals only
    if (bytes - in < 2) return false;
    size_t distance = at<uint16_t>(from + in);
    in += 2;
    size_t match = length(token & 15) + 4;
    if (distance == 0 || distance > to->size() || to->size() + match > wanted) return false;
    for (size_t i = 0; i < match; ++i) to->push_back((*to)[to->size() - distance]);
  }
  return to->size() == wanted;
}

bool expand_zstd(const char* from, size_t bytes, std::string* to, size_t wanted) {
  // Opened when needed: a program without compressed modules needs no zstd on its machine.
  static void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  using Decompress = size_t (*)(void*, size_t, const void*, size_t);
  using ContentSize = unsigned long long (*)(const void*, size_t);
  auto find = [](const char* name) { return library == nullptr ? nullptr : dlsym(library, name); };
  auto decompress = reinterpret_cast<Decompress>(find("ZSTD_decompress"));
  auto content_size = reinterpret_cast<ContentSize>(find("ZSTD_getFrameContentSize"));
  if (decompress == nullptr || content_size == nullptr) {
    say("a zstd-compressed module cannot be read: %s. Install libzstd1 or build with nvcc --compress-mode=none.",
        library == nullptr ? dlerror() : "no ZSTD_decompress");
    return false;
  }
  // The frame knows its size too; a damaged one must not make us take a gigabyte first.
  if (content_size(from, bytes) != wanted) return false;
  to->resize(wanted);
  return decompress(to->data(), wanted, from, bytes) == wanted;
}

CUresult read_entry(const Entry& entry, Image* image) {
  std::string expanded;
  std::string_view content(entry.content, entry.bytes);
  if ((entry.flags & (kLz4Flag | kZstdFlag)) != 0) {
    if (entry.compressed_bytes > entry.bytes || entry.uncompressed_bytes > kMaxBytes) return CUDA_ERROR_INVALID_IMAGE;
    bool good = (entry.flags & kLz4Flag) != 0
                    ? expand_lz4(content.data(), entry.compressed_bytes, &expanded, entry.uncompressed_bytes)
                    : expand_zstd(content.data(), entry.compressed_bytes, &expanded, entry.uncompressed_bytes);
    if (!good) return CUDA_ERROR_INVALID_IMAGE;
    content = expanded;
  }
  if (entry.kind == kCubin) return read_cubin(std::string(content), image);
  return read_ptx(std::string(content.substr(0, content.find('\0'))), image);
}

// A cubin of the same generation wins over PTX; of several, the newest that the device can run.
bool better(const Entry& entry, const Entry& best, uint32_t capability) {
  if (entry.architecture > capability) return false;
  if (entry.kind == kCubin && entry.architecture / 10 != capability / 10) return false;
  if (best.content == nullptr || entry.kind != best.kind) return best.content == nullptr || entry.kind == kCubin;
  return entry.architecture > best.architecture;
}

}  // namespace

// `content` is as long as its header says (image.cpp).
CUresult read_fatbin(const std::string& content, int compute_capability, Image* image) {
  if (content.size() < 16 || at<uint16_t>(content.data() + 4) != 1) return CUDA_ERROR_INVALID_IMAGE;
  uint64_t left = at<uint64_t>(content.data() + 8);
  const char* next = content.data() + at<uint16_t>(content.data() + 6);
  Entry best;
  auto capability = static_cast<uint32_t>(compute_capability);
  while (left >= 64) {
    uint32_t header_bytes = at<uint32_t>(next + 4);
    Entry entry{at<uint16_t>(next),     at<uint32_t>(next + 28), at<uint64_t>(next + 40), next + header_bytes,
                at<uint64_t>(next + 8), at<uint32_t>(next + 16), at<uint64_t>(next + 56)};
    if (header_bytes < 64 || header_bytes > left || entry.bytes > left - header_bytes) return CUDA_ERROR_INVALID_IMAGE;
    if ((entry.kind == kPtx || entry.kind == kCubin) && better(entry, best, capability)) best = entry;
    next += header_bytes + entry.bytes;
    left -= header_bytes + entry.bytes;
  }
  return best.content == nullptr ? CUDA_ERROR_NO_BINARY_FOR_GPU : read_entry(best, image);
}

}  // namespace simnode
