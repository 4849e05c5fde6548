// rule_cache.cpp: see rule_cache.h. An entry's version is odd while it is written; a writer that finds it so goes away. One
// that never came back, in a forked child, leaves an entry that is not used again.
#include "probe/stacks/rule_cache.h"
#include "probe/runtime/of_process.h"

#include <atomic>

namespace hostprobe::probe {
namespace {

constexpr unsigned kEntries = 1024, kWords = 5;
constexpr unsigned kSaved[] = {kRbx, kRbp, kR12, kR12 + 1, kR12 + 2, kR12 + 3, kRip};
constexpr std::int16_t kUntouched = INT16_MIN;

struct Entry {
  std::uint32_t version;
  std::uint64_t words[kWords];  // pc, table, epoch and CFA offset, CFA register and rip, the other registers
};
HP_KEPT_BY_CHILDREN Entry g_entries[kEntries];

struct Words {
  std::uint64_t word[kWords];
};

std::uint64_t low16(std::int16_t value) { return static_cast<std::uint16_t>(value); }

Words pack(const RuleKey& key, const SimpleRule& rule) {
  const std::int16_t* saved = rule.saved;
  return {{key.pc, key.table, std::uint64_t{key.epoch} << 32 | static_cast<std::uint32_t>(rule.cfa_offset),
           rule.cfa_register | low16(saved[6]) << 16 | low16(saved[4]) << 32 | low16(saved[5]) << 48,
           low16(saved[0]) | low16(saved[1]) << 16 | low16(saved[2]) << 32 | low16(saved[3]) << 48}};
}

SimpleRule unpack(const Words& words) {
  auto part = [](std::uint64_t word, unsigned shift) { return static_cast<std::int16_t>(word >> shift & 0xffff); };
  std::uint64_t a = words.word[3], b = words.word[4];
  return {static_cast<std::int32_t>(words.word[2] & 0xffffffff),
          static_cast<std::uint8_t>(a & 0xff),
          {part(b, 0), part(b, 16), part(b, 32), part(b, 48), part(a, 32), part(a, 48), part(a, 16)}};
}

Entry& entry_of(const RuleKey& key) { return g_entries[(key.pc * 0x9e3779b97f4a7c15u) >> 54]; }
static_assert(kEntries == 1u << (64 - 54));

bool is_saved(unsigned number) {
  for (unsigned saved : kSaved)
    if (saved == number) return true;
  return false;
}

}  // namespace

bool simplify(const UnwindRow& row, SimpleRule& rule) {
  if (row.cfa_is_expression || row.cfa_value != static_cast<std::int32_t>(row.cfa_value)) return false;
  for (unsigned number = 0; number < kRegisters; ++number)
    if (!is_saved(number) && row.place[number] != Place::kSame) return false;
  rule = {static_cast<std::int32_t>(row.cfa_value), row.cfa_register, {}};
  for (unsigned i = 0; i < sizeof kSaved / sizeof kSaved[0]; ++i) {
    std::int64_t offset = row.value[kSaved[i]];
    Place place = row.place[kSaved[i]];
    bool fits = offset > INT16_MIN && offset <= INT16_MAX;
    if (place != Place::kSame && (place != Place::kAtOffset || !fits)) return false;
    rule.saved[i] = place == Place::kSame ? kUntouched : static_cast<std::int16_t>(offset);
  }
  return true;
}

void expand(const SimpleRule& rule, UnwindRow& row) {
  row = {};
  row.cfa_register = rule.cfa_register;
  row.cfa_value = rule.cfa_offset;
  for (unsigned i = 0; i < sizeof kSaved / sizeof kSaved[0]; ++i) {
    row.place[kSaved[i]] = rule.saved[i] == kUntouched ? Place::kSame : Place::kAtOffset;
    row.value[kSaved[i]] = rule.saved[i] == kUntouched ? 0 : rule.saved[i];
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
