// python_chain.h: the chain of frames of a thread that may run while it is read, and what two readings of it agree on.
//
// Room 2 (probe/). No lock holds such a thread. A frame that both readings found at the same place, of the same code, with the frames
// below it at the same instructions, was there in between; the functions inside it that came and went meanwhile are left out.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

struct PythonLink {
  std::uint64_t at;  // address of the frame
  std::uint64_t code, back, instruction;
  unsigned owner;
};

inline constexpr unsigned kMostLinks = 256;  // a thread that is deeper in is not told of

struct PythonChain {
  unsigned count;
  PythonLink links[kMostLinks];  // innermost first, down to the thread's outermost frame
};

inline bool is_same_frame(const PythonLink& l, const PythonLink& r) {
  return l.at == r.at && l.code == r.code && l.back == r.back && l.owner == r.owner;
}

// From link `i` of one and `k` of the other on they are the same. The innermost one runs; the others are at a call and stay there.
inline bool agree_from(const PythonChain& first, unsigned i, const PythonChain& second, unsigned k) {
  for (bool runs = true; i < first.count && k < second.count; ++i, ++k, runs = false) {
    const PythonLink &l = first.links[i], &r = second.links[k];
    if (!is_same_frame(l, r) || (!runs && l.instruction != r.instruction)) return false;
  }
  return i == first.count && k == second.count;
}

// The innermost link of `first` from which on both agree; first.count: there is none.
inline unsigned agreed_link(const PythonChain& first, const PythonChain& second) {
  for (unsigned i = 0; i < first.count; ++i)
    for (unsigned k = 0; k < second.count; ++k)
      if (first.links[i].at == second.links[k].at && agree_from(first, i, second, k)) return i;
  return first.count;
}

// What a code object is known by.
struct CodeWords {
  std::uint64_t type, name, file, lines;
  bool operator==(const CodeWords&) const = default;
};

// A function that calls itself, perhaps through others, has its code read once. `i`: there is none before.
inline unsigned earlier_link_of_same_code(const PythonChain& chain, unsigned i) {
  constexpr unsigned kLooks = 16;
  for (unsigned k = i; k > 0 && i - k < kLooks; --k)
    if (chain.links[k - 1].code == chain.links[i].code) return k - 1;
  return i;
}

}  // namespace hostprobe::probe
