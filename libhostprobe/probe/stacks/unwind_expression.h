// unwind_expression.h: the little stack machine of DWARF expressions, as far as unwind tables use it.
//
// Room 2 (probe/). A PLT entry says by it how far it has pushed, a signal frame where the kernel
// saved the registers, a function that aligned its stack where it noted the old one.
#pragma once

#include "probe/stacks/unwind_registers.h"
#include "probe/stacks/unwind_table.h"

namespace hostprobe::probe {

// The expression at `at`, length first. `first`: what lies on the stack in the beginning, or nullptr. `operands`: room for 16.
bool evaluate(TableWindow& tables, StackWindow& memory, std::uint64_t at, const Registers& registers,
              const std::uint64_t* first, std::uint64_t* operands, std::uint64_t& result);

}  // namespace hostprobe::probe
