// The walk over native frames: against libgcc's on a stack that both can walk, and on tables, registers and stacks that are
// garbage, where it must end and read nothing but what it is given.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "probe/stacks/rule_cache.h"
#include "probe/stacks/unwind_expression.h"
#include "probe/stacks/walk.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kMost = 64;
std::uint32_t g_epoch = 0;
bool leaves_nothing_out(const void*) { return false; }

// ---- a real stack ----

struct OwnProcess {
  unsigned copies = 0;
};

// Aligned pieces of what is mapped are mapped.
bool copy_own(void* context, void* to, std::uint64_t from, std::size_t bytes) {
  ++static_cast<OwnProcess*>(context)->copies;
  __builtin_memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return true;
}

bool find_own(void*, std::uint64_t address, CodeObject& object) {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  object = {reinterpret_cast<std::uint64_t>(found.dlfo_map_start), reinterpret_cast<std::uint64_t>(found.dlfo_map_end),
            reinterpret_cast<std::uint64_t>(found.dlfo_eh_frame)};
  return true;
}

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // their copies of the stack are looked at by memcpy
std::vector<std::uint64_t> g_walked, g_expected;
unsigned g_copies[2];

__attribute__((noinline)) void walk_here() {
  OwnProcess process;
  auto room = std::make_unique<WalkRoom>();
  std::uint64_t frames[kMost];
  void* addresses[kMost];
  for (unsigned turn = 0; turn < 2; ++turn) {
    process.copies = 0;
    room->around = {copy_own, find_own, &process};
    HP_TAKE_REGISTERS(room->registers.value);
    room->registers.known = kTakenRegisters;
    const unsigned count = walk_frames(*room, g_epoch + 1, leaves_nothing_out, frames, kMost);
    g_walked.assign(frames, frames + count);
    g_copies[turn] = process.copies;
  }
  const int count = backtrace(addresses, kMost);
  g_expected.clear();
  for (int i = 0; i < count; ++i) g_expected.push_back(reinterpret_cast<std::uint64_t>(addresses[i]));
  asm volatile("" : : : "memory");
}

// A frame whose size nobody knows, one that aligns its stack, one behind libc's code.
__attribute__((noinline)) void with_room(std::size_t bytes) {
  auto* room = static_cast<char*>(__builtin_alloca(bytes));
  asm volatile("" : : "r"(room) : "memory");
  walk_here();
  asm volatile("" : : "r"(room) : "memory");
}
__attribute__((noinline)) void aligned(int depth) {
  alignas(128) char room[256];
  asm volatile("" : : "r"(room) : "memory");
  if (depth == 0)
    with_room(1000);
  else
    aligned(depth - 1);
  asm volatile("" : : "r"(room) : "memory");
}
int compare(const void* a, const void* b) {
  if (g_walked.empty()) aligned(5);
  return static_cast<const char*>(a) < static_cast<const char*>(b) ? -1 : 1;
}

TEST(Walk, FindsTheFramesThatLibgccFinds) {
  int numbers[] = {3, 1};
  g_walked.clear();
  qsort(numbers, 2, sizeof numbers[0], compare);
  ASSERT_GT(g_walked.size(), 8u);
  ASSERT_EQ(g_walked.size(), g_expected.size());
  // Both begin in the same function, at different places.
  EXPECT_EQ(std::vector(g_walked.begin() + 1, g_walked.end()), std::vector(g_expected.begin() + 1, g_expected.end()));
  EXPECT_LT(g_copies[1], g_copies[0]) << "the second time its rules are known";
}
#endif

// ---- made-up tables ----

// Memory that is nowhere else; what lies outside of it cannot be read.
struct MadeMemory {
  std::map<std::uint64_t, std::vector<std::uint8_t>> pieces;
  std::uint64_t begin = 0, end = 0, table = 0;  // the one object
  unsigned copies = 0;

  static bool copy(void* context, void* to, std::uint64_t from, std::size_t bytes) {
    auto& memory = *static_cast<MadeMemory*>(context);
    ++memory.copies;
    auto piece = memory.pieces.upper_bound(from);
    if (piece == memory.pieces.begin()) return false;
    --piece;
    if (from - piece->first > piece->second.size() || piece->second.size() - (from - piece->first) < bytes)
      return false;
    std::memcpy(to, piece->second.data() + (from - piece->first), bytes);
    return true;
  }
  static bool find(void* context, std::uint64_t address, CodeObject& object) {
    auto& memory = *static_cast<MadeMemory*>(context);
    object = {memory.begin, memory.end, memory.table};
    return address >= memory.begin && address < memory.end;
  }
  Surroundings around() { return {copy, find, this}; }
};

constexpr std::uint64_t kTables = 0x100000, kStack = 0x700000;

// Some registers that a function preserves, by their numbers here.
#if defined(__x86_64__)
constexpr std::uint8_t kFrame = kRbp, kFirst = kRbx, kSecond = 12, kThird = 13, kFourth = 15;
#else
constexpr std::uint8_t kFrame = 29, kFirst = 19, kSecond = 20, kThird = 21, kFourth = 22;
#endif
constexpr std::uint8_t kOffsetOf = 0x80, kRestoreOf = 0xc0, kRelativeTo = 0x70;  // DW_CFA_offset, _restore, DW_OP_breg0

class UnwindRules : public testing::Test {
 protected:
  UnwindRules() {
    memory_.pieces[kTables].resize(65536);
    memory_.pieces[kStack].resize(65536);
    around_ = memory_.around();
    tables_.open(around_);
    stack_.open(around_);
    registers_.set(kStackPointer, kStack + 0x1000);
    registers_.set(kFrame, kStack + 0x1100);
    registers_.set(kPc, 0x1000);
  }
  void put(std::uint64_t at, std::uint64_t word) { std::memcpy(&memory_.pieces[kStack][at - kStack], &word, 8); }
  bool run(const std::vector<std::uint8_t>& own, std::uint64_t pc = 0x1010) {
    const std::vector<std::uint8_t> common = {0x0c, kStackPointer, 8, kOffsetOf | kReturnRegister,
                                              1};  // CFA sp + 8, pc at CFA - 8
    std::memcpy(memory_.pieces[kTables].data(), common.data(), common.size());
    std::memcpy(memory_.pieces[kTables].data() + 64, own.data(), own.size());
    tables_.open(around_);
    UnwindProgram program{};
    program.first_pc = 0x1000;
    program.common = {kTables, kTables + common.size()};
    program.own = {kTables + 64, kTables + 64 + own.size()};
    program.code_factor = 1;
    program.data_factor = -8;
    return run_unwind_program(tables_, program, pc, rows_);
  }
  bool unwind() {
    stack_.open(around_);
    return unwind_registers(tables_, stack_, rows_, registers_);
  }

  MadeMemory memory_;
  Surroundings around_;
  TableWindow tables_;
  StackWindow stack_;
  UnwindRows rows_;
  Registers registers_{};
};

TEST_F(UnwindRules, FollowAPrologueAsFarAsThePc) {
  const std::vector<std::uint8_t> own = {0x41, 0x0e, 16,   kOffsetOf | kFrame,
                                         2,    0x43, 0x0d, kFrame};  // push rbp; mov rsp, rbp
  ASSERT_TRUE(run(own, 0x1000));
  EXPECT_EQ(rows_.now.cfa_value, 8);
  ASSERT_TRUE(run(own, 0x1001));
  EXPECT_EQ(rows_.now.cfa_value, 16);
  EXPECT_EQ(rows_.now.cfa_register, kStackPointer);
  ASSERT_TRUE(run(own, 0x1004));
  EXPECT_EQ(rows_.now.cfa_register, kFrame);
  put(kStack + 0x1100, 0x4242);
  put(kStack + 0x1108, 0x2020);
  ASSERT_TRUE(unwind());
  EXPECT_EQ(registers_.value[kFrame], 0x4242u);
  EXPECT_EQ(registers_.value[kPc], 0x2020u);
  EXPECT_EQ(registers_.value[kStackPointer], kStack + 0x1110);
}

TEST_F(UnwindRules, RememberAndRestoreRows) {
  // remember; CFA 64; advance 16; restore; and beyond the last: nothing to restore.
  ASSERT_TRUE(run({0x0a, 0x0e, 64, 0x50, 0x0b}));
  EXPECT_EQ(rows_.now.cfa_value, 8);
  EXPECT_FALSE(run({0x0b}));
  EXPECT_FALSE(run(std::vector<std::uint8_t>(kRememberedRows + 1, 0x0a)));
}

TEST_F(UnwindRules, KnowValuesBesidesPlaces) {
  // The first = CFA - 16 itself; the second where the frame register points; the third undefined; the pc as it was in the common part.
  ASSERT_TRUE(
      run({0x14, kFirst, 2, 0x10, kSecond, 2, kRelativeTo + kFrame, 0, 0x07, kThird, kRestoreOf | kReturnRegister}));
  put(kStack + 0x1000, 0x3030);
  put(kStack + 0x1100, 0x5151);
  registers_.set(kThird, 99);
  ASSERT_TRUE(unwind());
  EXPECT_EQ(registers_.value[kFirst], kStack + 0x1008 - 16);
  EXPECT_EQ(registers_.value[kSecond], 0x5151u);
  EXPECT_FALSE(registers_.has(kThird));
  EXPECT_EQ(registers_.value[kPc], 0x3030u);
}

TEST_F(UnwindRules, EndWhereNobodyCalled) {
  ASSERT_TRUE(run({0x07, kReturnRegister}));
  EXPECT_FALSE(unwind());
}

TEST_F(UnwindRules, RefuseWhatTheyDoNotKnow) {
  EXPECT_FALSE(run({0x3f}));
  EXPECT_FALSE(run({0x0e}));  // cut short
  ASSERT_TRUE(run({0x0d, 40}));
  EXPECT_FALSE(unwind()) << "CFA in a register that there is not";
}

#if defined(__x86_64__)
// What a PLT entry says: rsp + 8, and 8 more from its eleventh byte on.
TEST_F(UnwindRules, EvaluateTheExpressionOfAPltEntry) {
  const std::vector<std::uint8_t> own = {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  for (std::uint64_t pc : {0x1000u, 0x100bu}) {
    registers_.set(kStackPointer, kStack + 0x1000);
    registers_.set(kPc, pc);
    ASSERT_TRUE(run(own));
    ASSERT_TRUE(unwind());
    EXPECT_EQ(registers_.value[kStackPointer], kStack + 0x1008 + (pc == 0x100b ? 8 : 0));
  }
}

#else
// What stands in a function that signs its return address, from its second instruction on.
TEST_F(UnwindRules, TakeTheSignatureOffAReturnAddress) {
  std::uint64_t address = reinterpret_cast<std::uint64_t>(&leaves_nothing_out), signed_address = address;
  asm volatile("mov x17, %0\n\tmov x16, %1\n\thint #8\n\tmov %0, x17"  // pacia1716
               : "+r"(signed_address)
               : "r"(kStack)
               : "x16", "x17");
  ASSERT_TRUE(run({0x41, 0x2d}));
  put(kStack + 0x1000, signed_address);
  ASSERT_TRUE(unwind());
  EXPECT_EQ(registers_.value[kPc], address);
}
#endif

TEST_F(UnwindRules, LeaveAnExpressionThatNeverEnds) {
  ASSERT_TRUE(run({0x0f, 3, 0x2f, 0xfd, 0xff}));
  EXPECT_FALSE(unwind());
}

void expect_same_from_cache(const UnwindRow& row, const RuleKey& key) {
  SimpleRule rule, found;
  ASSERT_TRUE(simplify(row, rule));
  keep_rule(key, rule);
  ASSERT_TRUE(find_rule(key, found));
  UnwindRow expanded;
  expand(found, expanded);
  EXPECT_EQ(expanded.cfa_register, row.cfa_register);
  EXPECT_EQ(expanded.cfa_value, row.cfa_value);
  for (unsigned i = 0; i < kRegisters; ++i) {
    EXPECT_EQ(expanded.place[i], row.place[i]) << i;
    EXPECT_EQ(expanded.value[i], row.value[i]) << i;
  }
}

TEST_F(UnwindRules, AreTheSameFromTheCache) {
  ASSERT_TRUE(run({0x0c, kFrame, 16, kOffsetOf | kFrame, 2, kOffsetOf | kFirst, 3, kOffsetOf | kFourth, 4}));
  expect_same_from_cache(rows_.now, {0x1010, kTables, 7});
  SimpleRule found;
  EXPECT_FALSE(find_rule({0x1010, kTables, 8}, found)) << "of another time";
  EXPECT_FALSE(find_rule({0x1010, kStack, 7}, found)) << "of another object";
}

// The outermost frame of every thread: without it each stack would read the tables again.
TEST_F(UnwindRules, OfTheOutermostFrameAreTheSameFromTheCache) {
  ASSERT_TRUE(run({0x07, kReturnRegister}));
  expect_same_from_cache(rows_.now, {0x2010, kTables, 7});
}

// ---- garbage ----

class Garbage : public testing::Test {
 protected:
  std::uint64_t random(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(seed_);
  }

  void walk(MadeMemory& memory, const Registers& registers) {
    room_->around = memory.around();
    room_->registers = registers;
    memory.copies = 0;
    std::uint64_t frames[kMost + 1];
    frames[kMost] = 0x77;
    const unsigned count = walk_frames(*room_, ++epoch_, leaves_nothing_out, frames, kMost);
    ASSERT_LE(count, kMost);
    ASSERT_EQ(frames[kMost], 0x77u);
    ASSERT_LT(memory.copies, kMost * 400u) << "it goes on and on";
  }

  std::mt19937_64 seed_{20240601};
  std::uint32_t epoch_ = 1000;
  std::unique_ptr<WalkRoom> room_ = std::make_unique<WalkRoom>();
};

TEST_F(Garbage, InTablesStackAndRegistersEndsTheWalk) {
  constexpr std::size_t kBytes = 4096;
  MadeMemory memory;
  for (unsigned round = 0; round < 4000; ++round) {
    auto& tables = memory.pieces[kTables];
    auto& stack = memory.pieces[kStack];
    tables.resize(kBytes), stack.resize(kBytes);
    for (std::size_t at = 0; at < kBytes; at += 8) {
      const std::uint64_t word = seed_() & (round % 2 == 0 ? ~std::uint64_t{0} : 0x1f1f1f1f1f1f1f1f);
      std::memcpy(&tables[at], &word, 8);
    }
    for (std::size_t at = 0; at < kBytes; at += 8) {
      const std::uint64_t word = random(2) == 0 ? kTables + random(kBytes) : kStack + random(kBytes);
      std::memcpy(&stack[at], &word, 8);
    }
    const std::uint8_t header[] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, static_cast<std::uint8_t>(1 + random(64)), 0, 0, 0};
    std::memcpy(tables.data(), header, sizeof header);
    memory.begin = memory.table = kTables;
    memory.end = kTables + (random(8) == 0 ? ~kTables : kBytes);
    Registers registers{};
    for (unsigned i = 0; i < kRegisters; ++i) registers.set(i, kStack + random(kBytes));
    registers.set(kPc, kTables + random(kBytes));
    walk(memory, registers);
  }
}

// The tables of this very program, with some bytes changed: so that the walk comes far before it meets what is wrong.
TEST_F(Garbage, HereAndThereInRealTablesEndsTheWalk) {
  CodeObject object;
  const auto here = reinterpret_cast<std::uint64_t>(&leaves_nothing_out);
  ASSERT_TRUE(find_own(nullptr, here, object));
  MadeMemory memory;
  memory.begin = object.begin, memory.end = object.end, memory.table = object.table;
  const std::uint64_t first = object.table & ~std::uint64_t{4095};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(first);
  // Up to the end of the mapping that the tables lie in, at least as far as a page; they are the last of what is only read.
  const std::vector<std::uint8_t> real(bytes, bytes + std::min<std::uint64_t>(object.end - first, 65536));
  auto& stack = memory.pieces[kStack];
  stack.resize(16384);
  for (unsigned round = 0; round < 1500; ++round) {
    auto& tables = memory.pieces[first] = real;
    for (std::uint64_t changes = random(400); changes > 0; --changes)
      tables[random(tables.size())] = static_cast<std::uint8_t>(random(256));
    for (std::size_t at = 0; at < stack.size(); at += 8) {
      const std::uint64_t word = random(2) == 0 ? here + random(1 << 16) : kStack + random(stack.size());
      std::memcpy(&stack[at], &word, 8);
    }
    Registers registers{};
    for (unsigned i = 0; i < kRegisters; ++i) registers.set(i, kStack + random(stack.size()));
    registers.set(kPc, here + random(1 << 16));
    walk(memory, registers);
  }
}

}  // namespace
}  // namespace hostprobe::probe
