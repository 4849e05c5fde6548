// strings.cpp: see strings.h. Layout of the area: format/segment.h, StringHead.
#include "probe/record/strings.h"

#include <string.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint32_t kTableSize = 16384;  // a power of two; ids of all texts that fit the area at 32 bytes each
constexpr std::size_t kLongest = 1000;
HP_OF_RECORDING constinit std::uint32_t g_table[kTableSize]{};

std::uint32_t hash_of(const char* text, std::size_t bytes) {
  std::uint32_t h = 2166136261u;
  for (std::size_t i = 0; i < bytes; ++i) h = (h ^ static_cast<unsigned char>(text[i])) * 16777619u;
  return h;
}

// Looked up once for each text: a handler that forks in the middle leaves its child without one, while the parent's memory
// stays mapped there.
struct Area {
  SegmentHeader* header;
  char* strings;
};

StringHead* head_of(const Area& area, std::uint32_t id) {
  return reinterpret_cast<StringHead*>(area.strings + std::size_t{id - 1} * 8);
}

bool same(const Area& area, std::uint32_t id, std::uint32_t hash, const char* text, std::size_t bytes) {
  StringHead* head = head_of(area, id);
  return head->hash == hash && std::atomic_ref(head->length).load(std::memory_order_acquire) == bytes &&
         memcmp(head + 1, text, bytes) == 0;
}

std::uint32_t append(const Area& area, std::uint32_t hash, const char* text, std::size_t bytes) {
  std::atomic_ref used(area.header->strings_used);
  auto whole = static_cast<std::uint32_t>(sizeof(StringHead) + (bytes + 7) / 8 * 8);
  std::uint32_t at = used.load(std::memory_order_relaxed);
  do {
    if (at + whole > kStringsBytes) return 0;
  } while (!used.compare_exchange_weak(at, at + whole, std::memory_order_relaxed));
  std::uint32_t id = at / 8 + 1;
  StringHead* head = head_of(area, id);
  head->hash = hash;
  memcpy(head + 1, text, bytes);
  std::atomic_ref(head->length).store(static_cast<std::uint32_t>(bytes), std::memory_order_release);
  return id;
}

}  // namespace

std::uint32_t string_id(const char* text, std::size_t bytes) {
  const Area area{g_segment.header, g_segment.strings};
  if (bytes == 0 || area.header == nullptr || area.strings == nullptr) return 0;
  if (bytes > kLongest) bytes = kLongest;
  std::uint32_t hash = hash_of(text, bytes), mine = 0;
  for (std::uint32_t probe = 0; probe < kTableSize; ++probe) {
    std::atomic_ref slot(g_table[(hash + probe) % kTableSize]);
    std::uint32_t id = slot.load(std::memory_order_acquire);
    if (id == 0) {
      if (mine == 0) mine = append(area, hash, text, bytes);
      if (mine == 0) return 0;
      if (slot.compare_exchange_strong(id, mine, std::memory_order_acq_rel)) return mine;
    }
    // Somebody else may just have added the same text: then ours stays in the area, unused.
    if (same(area, id, hash, text, bytes)) return id;
  }
  return 0;
}

}  // namespace hostprobe::probe
