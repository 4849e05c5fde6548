// thread_type.h: what a thread that is being created will run.
//
// Room 2 (probe/). For a std::thread the routine that pthread_create gets lies in
// libstdc++ and says nothing; the object it is given does: its virtual table lies in the module that made the thread, its
// type is named there, and a plain function is kept in its second or third word (NCCL from 2.29 on, PyTorch).
#pragma once

namespace hostprobe::probe {

struct ThreadOrigin {
  const char* type;     // mangled name of the C++ type behind a std::thread; nullptr: none, or built without RTTI
  const void* routine;  // the code that says most about what the thread does
  bool of_nccl;         // that code lies in NCCL
};

ThreadOrigin thread_origin(const void* creator, const void* routine, const void* argument);

// NCCL names its threads only when it is told to by the environment. That may be changed safely as long as there is one
// thread, so this is called before the first one is made; the user's own setting stays.
void have_nccl_threads_named();

}  // namespace hostprobe::probe
