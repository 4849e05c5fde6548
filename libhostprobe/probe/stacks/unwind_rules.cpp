// unwind_rules.cpp: see unwind_rules.h.
#include "probe/stacks/unwind_rules.h"

#include "probe/stacks/unwind_expression.h"

namespace hostprobe::probe {
namespace {

// DW_CFA_…; the first three have their operand in the lower six bits.
enum : std::uint8_t {
  kAdvance = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
  kNothing = 0x00,
  kSetPc = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSame = 0x08,
  kRegister = 0x09,
  kRememberRow = 0x0a,
  kRestoreRow = 0x0b,
  kCfa = 0x0c,
  kCfaRegister = 0x0d,
  kCfaOffset = 0x0e,
  kCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSigned = 0x11,
  kCfaSigned = 0x12,
  kCfaOffsetSigned = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSigned = 0x15,
  kValueExpression = 0x16,
  kArgumentBytes = 0x2e,
  kNegativeOffset = 0x2f,
};

class Machine {
 public:
  Machine(TableWindow& window, const UnwindProgram& program, std::uint64_t pc, UnwindRows& rows)
      : window_(window), program_(program), pc_(pc), at_pc_(program.first_pc), rows_(rows) {}

  bool run(const Instructions& instructions) {
    Bytes bytes(window_, instructions.begin, instructions.end);
    while (bytes.more() && at_pc_ <= pc_)
      if (!step(bytes)) return false;
    return !bytes.failed();
  }

 private:
  void put(std::uint64_t number, Place place, std::int64_t value) {
    if (number >= kRegisters) return;  // vector registers are nobody's here
    rows_.now.place[number] = place;
    rows_.now.value[number] = value;
  }
  void restore(std::uint64_t number) {
    if (number < kRegisters) put(number, rows_.initial.place[number], rows_.initial.value[number]);
  }
  void advance(std::uint64_t steps) { at_pc_ += steps * program_.code_factor; }
  std::int64_t scaled(std::int64_t value) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) *
                                     static_cast<std::uint64_t>(program_.data_factor));
  }
  std::int64_t scaled(std::uint64_t value) const { return scaled(static_cast<std::int64_t>(value)); }

  void put_cfa(std::uint64_t number, std::int64_t offset) {
    rows_.now.cfa_is_expression = false;
    rows_.now.cfa_register = static_cast<std::uint8_t>(number < kRegisters ? number : kRegisters);
    rows_.now.cfa_value = offset;
  }

  static std::int64_t take_expression(Bytes& bytes) {
    auto at = static_cast<std::int64_t>(bytes.at());
    bytes.skip(bytes.uleb());
    return at;
  }

  bool step(Bytes& bytes) {
    auto code = bytes.next<std::uint8_t>();
    std::uint64_t low = code & 0x3f;
    switch (code & 0xc0) {
      case kAdvance:
        advance(low);
        return true;
      case kOffset:
        put(low, Place::kAtOffset, scaled(bytes.uleb()));
        return true;
      case kRestore:
        restore(low);
        return true;
      default:
        return step_of_rows(code, bytes) || step_of_cfa(code, bytes) || step_of_register(code, bytes);
    }
  }

  bool step_of_rows(std::uint8_t code, Bytes& bytes) {
    switch (code) {
      case kNothing:
        return true;
      case kSetPc:
        at_pc_ = bytes.pointer(program_.encoding, 0);
        return true;
      case kAdvance1:
        advance(bytes.next<std::uint8_t>());
        return true;
      case kAdvance2:
        advance(bytes.next<std::uint16_t>());
        return true;
      case kAdvance4:
        advance(bytes.next<std::uint32_t>());
        return true;
      case kArgumentBytes:
        bytes.uleb();
        return true;
      case kRememberRow:
        if (remembered_ == kRememberedRows) return false;
        rows_.remembered[remembered_++] = rows_.now;
        return true;
      case kRestoreRow:
        if (remembered_ == 0) return false;
        rows_.now = rows_.remembered[--remembered_];
        return true;
      default:
        return is_sign_instruction(code);
    }
  }

  bool step_of_cfa(std::uint8_t code, Bytes& bytes) {
    UnwindRow& row = rows_.now;
    std::uint64_t number;
    switch (code) {
      case kCfa:
        number = bytes.uleb();
        put_cfa(number, static_cast<std::int64_t>(bytes.uleb()));
        return true;
      case kCfaSigned:
        number = bytes.uleb();
        put_cfa(number, scaled(bytes.sleb()));
        return true;
      case kCfaRegister:
        put_cfa(bytes.uleb(), row.cfa_value);
        return true;
      case kCfaOffset:
        put_cfa(row.cfa_register, static_cast<std::int64_t>(bytes.uleb()));
        return true;
      case kCfaOffsetSigned:
        put_cfa(row.cfa_register, scaled(bytes.sleb()));
        return true;
      case kCfaExpression:
        row.cfa_is_expression = true;
        row.cfa_value = take_expression(bytes);
        return true;
      default:
        return false;
    }
  }

  bool step_of_register(std::uint8_t code, Bytes& bytes) {
    if (code > kValueExpression && code != kNegativeOffset) return false;
    std::uint64_t number = bytes.uleb();
    switch (code) {
      case kOffsetExtended:
        put(number, Place::kAtOffset, scaled(bytes.uleb()));
        return true;
      case kNegativeOffset:
        put(number, Place::kAtOffset, scaled(0 - bytes.uleb()));
        return true;
      case kOffsetExtendedSigned:
        put(number, Place::kAtOffset, scaled(bytes.sleb()));
        return true;
      case kValueOffset:
        put(number, Place::kOffset, scaled(bytes.uleb()));
        return true;
      case kValueOffsetSigned:
        put(number, Place::kOffset, scaled(bytes.sleb()));
        return true;
      case kRestoreExtended:
        restore(number);
        return true;
      case kUndefined:
        put(number, Place::kUndefined, 0);
        return true;
      case kSame:
        put(number, Place::kSame, 0);
        return true;
      case kRegister:
        put(number, Place::kRegister, static_cast<std::int64_t>(bytes.uleb()));
        return true;
      case kExpression:
        put(number, Place::kAtExpression, take_expression(bytes));
        return true;
      case kValueExpression:
        put(number, Place::kExpression, take_expression(bytes));
        return true;
      default:
        return false;
    }
  }

  TableWindow& window_;
  const UnwindProgram& program_;
  std::uint64_t pc_, at_pc_;
  UnwindRows& rows_;
  unsigned remembered_ = 0;
};

bool find_cfa(TableWindow& tables, StackWindow& stack, UnwindRows& rows, const Registers& registers,
              std::uint64_t& cfa) {
  const UnwindRow& row = rows.now;
  if (row.cfa_is_expression)
    return evaluate(tables, stack, static_cast<std::uint64_t>(row.cfa_value), registers, nullptr, rows.operands, cfa);
  if (!registers.has(row.cfa_register)) return false;
  cfa = registers.value[row.cfa_register] + static_cast<std::uint64_t>(row.cfa_value);
  return true;
}

// The caller's value of one register; false: nobody knows it.
bool find_value(TableWindow& tables, StackWindow& stack, UnwindRows& rows, const Registers& registers, unsigned number,
                std::uint64_t cfa, std::uint64_t& value) {
  auto operand = static_cast<std::uint64_t>(rows.now.value[number]);
  Place place = rows.now.place[number];
  switch (place) {
    case Place::kSame:
      value = number == kStackPointer ? cfa : registers.value[number];
      return number == kStackPointer || (number != kPc && registers.has(number));
    case Place::kUndefined:
      return false;
    case Place::kAtOffset:
      return stack.read(&value, cfa + operand, sizeof value);
    case Place::kOffset:
      value = cfa + operand;
      return true;
    case Place::kRegister:
      if (!registers.has(operand)) return false;
      value = registers.value[operand];
      return true;
    case Place::kAtExpression:
    case Place::kExpression:
      if (!evaluate(tables, stack, operand, registers, &cfa, rows.operands, value)) return false;
      return place == Place::kExpression || stack.read(&value, value, sizeof value);
  }
  return false;
}

}  // namespace

bool run_unwind_program(TableWindow& window, const UnwindProgram& program, std::uint64_t pc, UnwindRows& rows) {
  rows.now = {};
  rows.now.cfa_register = kRegisters;  // none
  rows.initial = rows.now;
  Machine machine(window, program, pc, rows);
  if (!machine.run(program.common)) return false;
  rows.initial = rows.now;
  return machine.run(program.own);
}

bool unwind_registers(TableWindow& tables, StackWindow& stack, UnwindRows& rows, Registers& registers) {
  std::uint64_t cfa = 0;
  if (!find_cfa(tables, stack, rows, registers, cfa)) return false;
  Registers caller{};
  for (unsigned number = 0; number < kRegisters; ++number) {
    std::uint64_t value = 0;
    if (find_value(tables, stack, rows, registers, number, cfa, value)) caller.set(number, value);
  }
  if (kReturnRegister != kPc && caller.has(kReturnRegister))
    caller.set(kPc, plain_address(caller.value[kReturnRegister]));
  registers = caller;
  return caller.has(kPc) && caller.has(kStackPointer);
}

}  // namespace hostprobe::probe
