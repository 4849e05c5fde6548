// credentials.h: around a call by which the program becomes another user or group.
//
// Room 2 (probe/). libc makes such a call on all threads of the process and ends the process when the kernel does not answer all of
// them alike; by syscall() it is the calling thread's alone, and our writer would keep the rights that the program gives up. So
// the writer leaves first and comes back with the new identity. What the new user may not do is done before: the segment becomes
// his to remove, and the trace file stays open for a writer that could not open it again. errno is kept.
#pragma once

#include <errno.h>
#include <unistd.h>

#include <cstdint>

namespace hostprobe::probe {

constexpr uid_t kSame = ~uid_t{0};

class CredentialsChange {
 public:
  // `user`: who the process effectively becomes; kSame: that does not change.
  explicit CredentialsChange(uid_t user);
  template <class Result>
  Result done(Result result) {
    error_ = errno;
    if (concerns_us_) finish(result == 0);
    errno = error_;
    return result;
  }

 private:
  void prepare(uid_t user);
  void finish(bool changed);

  int error_;
  bool concerns_us_;
  bool in_handler_ = false;
  bool had_writer_ = false;
  bool segment_moved_ = false;
  std::uint32_t segment_owner_ = 0;
};

}  // namespace hostprobe::probe
