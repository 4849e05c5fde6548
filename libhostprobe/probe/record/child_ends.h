// child_ends.h: children of this process that ended by a signal or with a status that is not 0, as it collected them.
//
// Room 2 (probe/). A process that is killed says nothing any more; who collects it knows. Noted on the program's threads,
// seldom; taken by the writer. Full: the newest is not noted.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

struct ChildEnd {
  std::uint32_t pid;
  std::uint32_t status;  // as waitpid gives it; never 0
};

// Only what waitpid gives for a child that has ended.
void note_child_end(int pid, int status);
// False: there is none. The writer only.
bool take_child_end(ChildEnd& end);

}  // namespace hostprobe::probe
