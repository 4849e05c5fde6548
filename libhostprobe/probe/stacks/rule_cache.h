// rule_cache.h: what unwind tables said before, so that a stack seen again costs two or three system calls.
//
// Room 2 (probe/). Nearly every pc has a simple rule: the CFA is a register and an offset, and the saved registers lie at offsets from
// it, or are gone, as the return address is in the outermost frame. Shared by all threads, without locks. An object may be unloaded and
// another one loaded into its place: an entry holds for one object at one place, and for one epoch of some seconds.
#pragma once

#include "probe/stacks/unwind_rules.h"

namespace hostprobe::probe {

inline constexpr unsigned kSavedCount = sizeof kSavedRegisters / sizeof kSavedRegisters[0];

// Words of the cache's own; 0x8000 in a saved register's place: it is untouched, 0x8001: it is gone.
struct SimpleRule {
  std::int32_t cfa_offset;
  std::uint8_t cfa_register;
  std::int16_t saved[kSavedCount];  // of kSavedRegisters: offset from the CFA
};

// False: the rule is not simple.
bool simplify(const UnwindRow& row, SimpleRule& rule);
void expand(const SimpleRule& rule, UnwindRow& row);

struct RuleKey {
  std::uint64_t pc;
  std::uint64_t table;
  std::uint32_t epoch;
};
bool find_rule(const RuleKey& key, SimpleRule& rule);
void keep_rule(const RuleKey& key, const SimpleRule& rule);

}  // namespace hostprobe::probe
