// version.cpp: the only file that is compiled anew when nothing but the commit changed.
#include "version.h"

namespace hostprobe::analysis {

const char* version() { return HOSTPROBE_VERSION; }
const char* commit() { return HOSTPROBE_COMMIT; }

}  // namespace hostprobe::analysis
