// target.h: which processes record (HOSTPROBE_TARGET).
//
// Room 2 (probe/). Asked once by the constructor, before main. A launcher's process tree is mostly shells, compilers and
// trackers: they must stay untouched.
#pragma once

namespace hostprobe::probe {

enum class Target { kNever, kCandidate, kYes };

// kCandidate: becomes a target when it loads PyTorch or NCCL, or launches GPU work.
// `program` is the executable's path, nullptr unless program_decides(); `name` is argv[0].
Target choose_target(char** environment, const char* program, const char* name);

bool program_decides(char** environment);

// True when one of the libraries that make a candidate a target was loaded since it was asked last, or at the start.
bool target_library_loaded();

}  // namespace hostprobe::probe
