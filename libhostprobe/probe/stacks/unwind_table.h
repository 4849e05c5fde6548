// unwind_table.h: finds what the compiler says about unwinding one function: .eh_frame_hdr, .eh_frame.
//
// Room 2 (probe/). The header holds a sorted table of (function, description):
//
//   .eh_frame_hdr  version 1 | three encodings | where .eh_frame is | count | count × { first pc, FDE }, from the header on
//   FDE            length | way back to its CIE | first pc | pcs | length of the next | … | instructions
//   CIE            length | 0 | version | "zR…" | code and data factor | return register | pointer encoding … | instructions
//
// Price: the header, one to four pieces of the table, the FDE and the CIE, each a system call unless it is still at hand.
#pragma once

#include "probe/stacks/unwind_bytes.h"

namespace hostprobe::probe {

struct Instructions {
  std::uint64_t begin, end;
};

// How to unwind one function: what holds at its beginning, and what changes from pc to pc.
struct UnwindProgram {
  std::uint64_t first_pc;
  Instructions common, own;
  std::uint64_t code_factor;
  std::int64_t data_factor;
  std::uint8_t encoding;  // of the pointers among the instructions
  bool is_signal_frame;   // its pc is not a return address
};

// False: there is nothing about this pc, or nothing that makes sense.
bool find_unwind_program(TableWindow& window, const CodeObject& object, std::uint64_t pc, UnwindProgram& program);

}  // namespace hostprobe::probe
