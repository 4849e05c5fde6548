// unwind_rules.h: runs the instructions of an unwind program up to one pc: where the caller's registers are.
//
// Room 2 (probe/). All of DWARF's call frame instructions that GNU and LLVM write,
// expressions included: PLT entries and signal frames are described by them.
#pragma once

#include "probe/stacks/unwind_registers.h"
#include "probe/stacks/unwind_table.h"

namespace hostprobe::probe {

// Where the value that a register had in the caller is.
enum class Place : std::uint8_t {
  kSame,       // untouched
  kUndefined,  // gone; of the return address: this is the outermost frame
  kAtOffset,   // in memory, CFA + value
  kOffset,     // CFA + value itself
  kRegister,
  kAtExpression,  // value: address of the expression
  kExpression,
};

// The CFA, the value of the stack pointer in the caller, is register + offset or an expression.
struct UnwindRow {
  std::int64_t value[kRegisters];
  Place place[kRegisters];
  bool cfa_is_expression;
  std::uint8_t cfa_register;
  std::int64_t cfa_value;
};

inline constexpr unsigned kRememberedRows = 6;

// What running a program needs besides; much for a stack.
struct UnwindRows {
  UnwindRow now, initial;
  UnwindRow remembered[kRememberedRows];
  std::uint64_t operands[16];  // of expressions
};

// What holds at `pc`, in rows.now. False: the program holds something unknown or broken.
bool run_unwind_program(TableWindow& window, const UnwindProgram& program, std::uint64_t pc, UnwindRows& rows);

// The caller's registers from rows.now. False: they cannot be had, or the frame is the outermost.
bool unwind_registers(TableWindow& tables, StackWindow& stack, UnwindRows& rows, Registers& registers);

}  // namespace hostprobe::probe
