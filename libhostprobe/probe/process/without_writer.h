// without_writer.h: calls that the kernel refuses a process of more than one thread.
//
// Room 2 (probe/). A program all of whose threads have ended may enter another user or mount namespace; our writer, which
// it knows nothing of, would make that fail. Such a refusal changes nothing, so the call is simply made again without it.
#pragma once

#include <errno.h>

#include "probe/record/thread.h"

namespace hostprobe::probe {

// True when the call was refused with `error` and the writer may be why; it has then gone.
bool writer_went(int error);
// It comes back where it can. errno is kept.
void bring_writer_back();

template <class Call>
auto without_writer(Call call) {
  int before = errno;
  auto result = call();
  if (result != -1 || !writer_went(errno)) return result;
  errno = before;
  result = call();
  bring_writer_back();
  return result;
}

}  // namespace hostprobe::probe
