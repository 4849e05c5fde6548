// injection.h: being the tool that NVTX looks for, where no other is named.
//
// Room 2 (probe/). Each library has a copy of NVTX (nvtx3 is header-only), which asks once, with getenv and dlsym, for the path of
// a tool. The slots through which such libraries call getenv are ours; the program's environment stays as it is.
#pragma once

namespace hostprobe::probe {

// In front of getenv: the same answer, but for the tool's path where it has none and this process is recorded.
char* getenv_or_our_path(const char* name);

}  // namespace hostprobe::probe
