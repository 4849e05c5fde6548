// version.h: which hostprobe this is.
#pragma once

namespace hostprobe::analysis {

const char* version();
const char* commit();  // "unknown" when it was built outside of a checkout

}  // namespace hostprobe::analysis
