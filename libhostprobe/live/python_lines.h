// python_lines.h: which source line an instruction belongs to, by the interpreter's own tables.
//
// Room 3. A table may be damaged or cut short: the answer is then the line reached so far.
#pragma once

#include <cstdint>
#include <span>

#include "format/python_layout.h"

namespace hostprobe::analysis {

// `offset`: of the instruction, in bytes. 0: this instruction has no line.
int line_of(LineTable kind, std::span<const unsigned char> table, int first_line, std::int64_t offset);

}  // namespace hostprobe::analysis
