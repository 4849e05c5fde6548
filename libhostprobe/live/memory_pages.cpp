// memory_pages.cpp: see memory_pages.h.
#include "memory_pages.h"

#include <algorithm>
#include <cstring>

namespace hostprobe::analysis {

const MemoryPages::Page* MemoryPages::page_at(std::uint64_t address) {
  const auto [at, is_new] = pages_.try_emplace(address, nullptr);
  if (is_new) {
    auto page = std::make_unique<Page>();
    if (memory_.copy(page->data(), address, kPageBytes)) at->second = std::move(page);
  }
  return at->second.get();
}

bool MemoryPages::copy(void* to, std::uint64_t from, std::size_t bytes) {
  auto* out = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const std::uint64_t address = from / kPageBytes * kPageBytes, offset = from - address;
    const std::size_t piece = std::min<std::size_t>(bytes, kPageBytes - offset);
    const Page* page = page_at(address);
    if (page == nullptr) return false;
    std::memcpy(out, page->data() + offset, piece);
    out += piece;
    from += piece;
    bytes -= piece;
  }
  return true;
}

}  // namespace hostprobe::analysis
