// exec.h: around a call that makes another program of this process, should it succeed.
//
// Room 2 (probe/). May run in a signal handler, and in a vfork child, whose memory is its parent's: then it does nothing.
#pragma once

#include <errno.h>

#include "probe/fixes/fixes.h"
#include "probe/process/next_program.h"
#include "probe/writer/completion.h"

namespace hostprobe::probe {

// Whether this process has a trace of its own to complete.
bool exec_ends_trace();

class TraceEnd {
 public:
  TraceEnd();
  void take_back();  // it has failed

 private:
  Completion completion_;
};

// `may_succeed` is asked only where it matters. errno is what the call left.
template <class MaySucceed, class Call>
auto exec(MaySucceed may_succeed, Call call) {
  leave_fixes_before_exec();
  if (!exec_ends_trace()) return call();
  const int before = errno;
  const bool is_worth_it = may_succeed();
  if (!is_worth_it) {
    errno = before;
    return call();
  }
  TraceEnd end;
  errno = before;
  const auto result = call();
  const int error = errno;
  end.take_back();
  errno = error;
  return result;
}

}  // namespace hostprobe::probe
