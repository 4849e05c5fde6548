// of_process.cpp: see of_process.h. Only words that are not zero are written to: a child copies each page that it writes to.
#include "probe/runtime/of_process.h"

#include <cstdint>

namespace hostprobe::probe {
namespace {

extern "C" {
extern char __start_hp_process[] __attribute__((visibility("hidden")));
extern char __stop_hp_process[] __attribute__((visibility("hidden")));
extern char __start_hp_recording[] __attribute__((visibility("hidden")));
extern char __stop_hp_recording[] __attribute__((visibility("hidden")));
}

void clear(char* begin, char* end) {
  using Word = std::uint64_t __attribute__((may_alias));
  char* at = begin;
  for (; at + sizeof(Word) <= end; at += sizeof(Word))
    if (auto* word = reinterpret_cast<Word*>(at); *word != 0) *word = 0;
  for (; at < end; ++at)
    if (*at != 0) *at = 0;
}

}  // namespace

void forget_process() { clear(__start_hp_process, __stop_hp_process); }
void forget_recording() { clear(__start_hp_recording, __stop_hp_recording); }

}  // namespace hostprobe::probe
