// thread_type.h: the C++ type behind a std::thread, which names its owner when no thread name does.
//
// Room 2 (probe/). Called by the pthread_create hook, on the creating thread.
#pragma once

namespace hostprobe::probe {

// The mangled type name of the std::thread state that `argument` is, if `site`, the caller of pthread_create, lies in
// libstdc++ (then the argument is known to be one); else nullptr.
const char* thread_type(const void* site, const void* argument);

}  // namespace hostprobe::probe
