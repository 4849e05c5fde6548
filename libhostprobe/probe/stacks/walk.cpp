// walk.cpp: see walk.h.
#include "probe/stacks/walk.h"

#include <elf.h>

#include "probe/stacks/rule_cache.h"

namespace hostprobe::probe {
namespace {

bool follows_call(TableWindow& window, std::uint64_t pc) {
  std::uint8_t code[8];
  return window.read(code, pc - sizeof code, sizeof code) && ends_with_call(code);
}

// The object's own headers, which its first mapping begins with, say so.
bool lies_in_code(TableWindow& window, const CodeObject& object, std::uint64_t pc) {
  constexpr unsigned kMostSegments = 64;
  Elf64_Ehdr header;
  if (!window.read(&header, object.begin, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMostSegments) return false;
  bool is_first = true;
  std::uint64_t bias = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!window.read(&segment, object.begin + header.e_phoff + i * sizeof segment, sizeof segment)) return false;
    if (segment.p_type != PT_LOAD) continue;
    if (is_first) bias = object.begin - segment.p_vaddr;
    is_first = false;
    if ((segment.p_flags & PF_X) != 0 && pc - bias - segment.p_vaddr < segment.p_memsz) return true;
  }
  return false;
}

// What there is at a pc.
enum class Found {
  kCaller,   // room.registers are the caller's now
  kEnd,      // known code, but nobody called it, or its frame cannot be read
  kNothing,  // no description
};

// How to unwind at `pc`, in room.rows.now. `exact`: the caller's pc is no return address, a signal came there.
bool find_row(WalkRoom& room, const CodeObject& object, std::uint64_t pc, std::uint32_t epoch, bool& exact) {
  RuleKey key{pc, object.table, epoch};
  SimpleRule rule;
  exact = false;
  if (find_rule(key, rule)) {
    expand(rule, room.rows.now);
    return true;
  }
  if (!find_unwind_program(room.tables, object, pc, room.program)) return false;
  if (!run_unwind_program(room.tables, room.program, pc, room.rows)) return false;
  exact = room.program.is_signal_frame;
  if (!exact && simplify(room.rows.now, rule)) keep_rule(key, rule);
  return true;
}

// One frame outwards. Stacks grow down, so the caller's frame lies higher: no walk goes in a circle.
Found step_out(WalkRoom& room, const CodeObject& object, std::uint32_t epoch, bool& exact) {
  Registers& registers = room.registers;
  std::uint64_t before = registers.value[kStackPointer], pc = registers.value[kPc] - (exact ? 0 : 1);
  const bool may_stay = !kCallsMoveStack && exact;  // the innermost function, or the one that a signal came to
  if (!find_row(room, object, pc, epoch, exact)) return Found::kNothing;
  if (!unwind_registers(room.tables, room.stack, room.rows, registers)) return Found::kEnd;
  const std::uint64_t now = registers.value[kStackPointer];
  return (now > before || (may_stay && now == before)) && registers.value[kPc] != 0 ? Found::kCaller : Found::kEnd;
}

// At the end of a walk: code without a description, code made at run time, or garbage.
bool may_be_code(WalkRoom& room, const CodeObject& object, bool has_object, std::uint64_t pc) {
  return has_object ? lies_in_code(room.tables, object, pc) : follows_call(room.tables, pc);
}

}  // namespace

unsigned walk_frames(WalkRoom& room, std::uint32_t epoch, bool (*leaves_out)(const void*), std::uint64_t* frames,
                     unsigned most) {
  constexpr unsigned kMostLeftOut = 16;
  room.tables.open(room.around);
  room.stack.open(room.around);
  unsigned count = 0;
  bool exact = true;
  for (unsigned left_out = 0; left_out < kMostLeftOut && count < most;) {
    std::uint64_t pc = room.registers.value[kPc];
    if (count == 0 && leaves_out(reinterpret_cast<const void*>(pc)))
      ++left_out;
    else
      frames[count++] = pc;
    CodeObject object;
    bool has_object = room.around.find_object(room.around.context, pc - (exact ? 0 : 1), object);
    Found found = has_object ? step_out(room, object, epoch, exact) : Found::kNothing;
    if (found == Found::kCaller) continue;
    if (found == Found::kNothing && count > 0 && !may_be_code(room, object, has_object, pc)) --count;
    break;
  }
  return count;
}

}  // namespace hostprobe::probe
