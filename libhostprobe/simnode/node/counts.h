// SIMNODE_COUNTS: how often each exported entry point was entered. The counters are the decimal digits of a JSON file
// that is mapped and shared, so the file is right at every instant and needs no exit handler: exit, _exit, exec and
// SIGKILL all leave the same exact counts. One process, one file; a forked child starts its own.
#pragma once
#include <atomic>
#include <cstdint>

namespace simnode {

// Eight ASCII characters, right-aligned, blank-padded; on a little-endian machine the last digit is the top byte.
using Digits = std::atomic<uint64_t>;
constexpr unsigned kMaxEntries = 2048;

extern bool g_counting;
extern std::atomic<Digits*> g_digits[kMaxEntries];

// `names`: of the entries 0 to `name_count` - 1.
void start_counting(const char* folder, const char* const* names, unsigned name_count);
void forget_counts_of_parent();
void count_slowly(unsigned entry);

// About 5 ns: one relaxed load of the slot, one compare-exchange on the last digit.
inline void count(unsigned entry) {
  if (!g_counting) return;
  Digits* digits = g_digits[entry].load(std::memory_order_acquire);
  if (digits != nullptr) {
    uint64_t text = digits->load(std::memory_order_relaxed);
    while ((text >> 56) != '9')
      if (digits->compare_exchange_weak(text, text + (uint64_t{1} << 56), std::memory_order_relaxed)) return;
  }
  count_slowly(entry);
}

}  // namespace simnode
