// rule_cache.cpp: see rule_cache.h. An entry's version is odd while it is written; a writer that finds it so goes away. One
// that never came back, in a forked child, leaves an entry that is not used again.
#include "probe/stacks/rule_cache.h"
#include "probe/runtime/of_process.h"

#include <atomic>

namespace hostprobe::probe {
namespace {

constexpr unsigned kEntries = 1024, kWords = 3 + (1 + kSavedCount + 3) / 4;
constexpr std::int16_t kUntouched = INT16_MIN, kGone = INT16_MIN + 1;

struct Entry {
  std::uint32_t version;
  std::uint64_t words[kWords];  // pc, table, epoch and CFA offset, the rest
};
HP_KEPT_BY_CHILDREN Entry g_entries[kEntries];

struct Words {
  std::uint64_t word[kWords];
};

std::uint64_t low16(std::int16_t value) { return static_cast<std::uint16_t>(value); }

// From the third word on four numbers of 16 bits each: the register of the CFA, then what is saved.
Words pack(const RuleKey& key, const SimpleRule& rule) {
  Words words{{key.pc, key.table, std::uint64_t{key.epoch} << 32 | static_cast<std::uint32_t>(rule.cfa_offset),
               rule.cfa_register}};
  for (unsigned i = 1; i <= kSavedCount; ++i) words.word[3 + i / 4] |= low16(rule.saved[i - 1]) << 16 * (i % 4);
  return words;
}

SimpleRule unpack(const Words& words) {
  SimpleRule rule{
      static_cast<std::int32_t>(words.word[2] & 0xffffffff), static_cast<std::uint8_t>(words.word[3] & 0xff), {}};
  for (unsigned i = 1; i <= kSavedCount; ++i)
    rule.saved[i - 1] = static_cast<std::int16_t>(words.word[3 + i / 4] >> 16 * (i % 4) & 0xffff);
  return rule;
}

Entry& entry_of(const RuleKey& key) { return g_entries[(key.pc * 0x9e3779b97f4a7c15u) >> 54]; }
static_assert(kEntries == 1u << (64 - 54));

bool is_saved(unsigned number) {
  for (unsigned saved : kSavedRegisters)
    if (saved == number) return true;
  return false;
}

bool pack_place(Place place, std::int64_t offset, std::int16_t& saved) {
  saved = place == Place::kSame ? kUntouched : place == Place::kUndefined ? kGone : static_cast<std::int16_t>(offset);
  return place == Place::kSame || place == Place::kUndefined ||
         (place == Place::kAtOffset && offset > kGone && offset <= INT16_MAX);
}

}  // namespace

bool simplify(const UnwindRow& row, SimpleRule& rule) {
  if (row.cfa_is_expression || row.cfa_value != static_cast<std::int32_t>(row.cfa_value)) return false;
  for (unsigned number = 0; number < kRegisters; ++number)
    if (!is_saved(number) && row.place[number] != Place::kSame) return false;
  rule = {static_cast<std::int32_t>(row.cfa_value), row.cfa_register, {}};
  for (unsigned i = 0; i < kSavedCount; ++i)
    if (!pack_place(row.place[kSavedRegisters[i]], row.value[kSavedRegisters[i]], rule.saved[i])) return false;
  return true;
}

void expand(const SimpleRule& rule, UnwindRow& row) {
  row = {};
  row.cfa_register = rule.cfa_register;
  row.cfa_value = rule.cfa_offset;
  for (unsigned i = 0; i < kSavedCount; ++i) {
    const std::int16_t saved = rule.saved[i];
    row.place[kSavedRegisters[i]] = saved == kUntouched ? Place::kSame
                                    : saved == kGone    ? Place::kUndefined
                                                        : Place::kAtOffset;
    row.value[kSavedRegisters[i]] = saved <= kGone ? 0 : saved;
  }
}

bool find_rule(const RuleKey& key, SimpleRule& rule) {
  Entry& entry = entry_of(key);
  std::atomic_ref version(entry.version);
  std::uint32_t before = version.load(std::memory_order_acquire);
  Words words;
  for (unsigned i = 0; i < kWords; ++i) words.word[i] = std::atomic_ref(entry.words[i]).load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if ((before & 1) != 0 || version.load(std::memory_order_relaxed) != before) return false;
  if (words.word[0] != key.pc || words.word[1] != key.table || words.word[2] >> 32 != key.epoch) return false;
  rule = unpack(words);
  return true;
}

void keep_rule(const RuleKey& key, const SimpleRule& rule) {
  Entry& entry = entry_of(key);
  std::atomic_ref version(entry.version);
  std::uint32_t even = version.load(std::memory_order_relaxed);
  if ((even & 1) != 0 || !version.compare_exchange_strong(even, even + 1, std::memory_order_acquire)) return;
  std::atomic_thread_fence(std::memory_order_release);
  Words words = pack(key, rule);
  for (unsigned i = 0; i < kWords; ++i) std::atomic_ref(entry.words[i]).store(words.word[i], std::memory_order_relaxed);
  version.store(even + 2, std::memory_order_release);
}

}  // namespace hostprobe::probe
