// clear.h: zeroing what a forked child has inherited.
//
// Room 2 (probe/). A page that the child writes to is copied for it first, which takes longer than reading all of it.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Writes only where something else than zero stands. Whole words.
template <class T>
void clear_for_child(T& memory) {
  using Word = std::uint64_t __attribute__((may_alias));
  static_assert(sizeof(T) % sizeof(Word) == 0 && alignof(T) <= 64);
  auto* word = reinterpret_cast<volatile Word*>(&memory);
  for (auto* end = reinterpret_cast<volatile Word*>(&memory + 1); word != end; ++word)
    if (*word != 0) *word = 0;
}

}  // namespace hostprobe::probe
