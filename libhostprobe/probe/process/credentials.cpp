// credentials.cpp: a program becomes another user or group.
//
// Room 2 (probe/). Nothing is recorded here. Cold. libc makes such a call on all threads of the process and ends the process
// when the kernel does not answer all of them alike. Capabilities are each thread's own, so a program of one thread
// that keeps some over the change would be ended because of our writer. It leaves first and comes back with the new identity.
// What the new user may not do is done before: the segment becomes his to remove, and the trace file stays open for a
// writer that could not open it again. The file itself stays whose it was.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "probe/intercept/loader.h"
#include "probe/process/lifecycle.h"
#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/shelter.h"
#include "probe/runtime/signal_frame.h"
#include "probe/writer/file/passed_file.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/writer.h"

namespace hostprobe::probe {
namespace {

constexpr uid_t kSame = ~uid_t{0};

class CredentialsChange {
 public:
  explicit CredentialsChange(uid_t user) : error_(errno), concerns_us_(trace_is_ours()) {
    if (concerns_us_) prepare(user);
    errno = error_;
  }
  template <class Result>
  Result done(Result result) {
    error_ = errno;
    if (concerns_us_) finish(result == 0);
    errno = error_;
    return result;
  }

 private:
  void prepare(uid_t user) {
    // Somebody else may be in such a call, and libc then waits for this thread to follow it.
    constexpr unsigned long kSetxid = 1ul << (33 - 1);
    Shelter shelter(kSetxid);
    in_handler_ = in_signal_handler(shelter.blocked_before());
    begin_absence();
    segment_moved_ = user != kSame && give_segment_to(user, segment_owner_);
    had_writer_ = has_writer();
    const int file = open_by_path();
    FileReceiver receiver(had_writer_ && file < 0);
    if (had_writer_) send_writer_away(kPatienceMs);
    park_file(file >= 0 ? file : receiver.take());
  }

  void finish(bool changed) {
    std::uint32_t unused = 0;
    if (segment_moved_ && !changed) give_segment_to(segment_owner_, unused);
    if (!end_absence()) return;
    const int fd = open_by_path();
    if (fd >= 0) close(fd);
    if (fd >= 0 && !had_writer_) return close_parked_file();
    if (!in_handler_) let_writer_return();
    if (has_writer()) close_parked_file();
  }

  int error_;
  bool concerns_us_;
  bool in_handler_ = false;
  bool had_writer_ = false;
  bool segment_moved_ = false;
  std::uint32_t segment_owner_ = 0;
};

}  // namespace
}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// `user_`: who the process effectively becomes; kSame: that does not change.
#define HP_CREDENTIALS_HOOK(name, user_, params, ...)                     \
  HP_ROW(kThread, name, "GLIBC_2.2.5", 0, 0, nullptr, "", "", "", "", "") \
  extern "C" HP_EXPORT int hp_##name params __asm__(#name);               \
  extern "C" int hp_##name params {                                       \
    auto real = libc_target<int(*) params>(g_hook_##name);                \
    mark_used(g_hook_##name);                                             \
    CredentialsChange change(user_);                                      \
    return change.done(real(__VA_ARGS__));                                \
  }

HP_CREDENTIALS_HOOK(setuid, user, (uid_t user), user)
HP_CREDENTIALS_HOOK(seteuid, user, (uid_t user), user)
HP_CREDENTIALS_HOOK(setreuid, user, (uid_t of, uid_t user), of, user)
HP_CREDENTIALS_HOOK(setresuid, user, (uid_t of, uid_t user, uid_t saved), of, user, saved)
HP_CREDENTIALS_HOOK(setgid, kSame, (gid_t group), group)
HP_CREDENTIALS_HOOK(setegid, kSame, (gid_t group), group)
HP_CREDENTIALS_HOOK(setregid, kSame, (gid_t of, gid_t group), of, group)
HP_CREDENTIALS_HOOK(setresgid, kSame, (gid_t of, gid_t group, gid_t saved), of, group, saved)
HP_CREDENTIALS_HOOK(setgroups, kSame, (size_t count, const gid_t* groups), count, groups)
HP_CREDENTIALS_HOOK(initgroups, kSame, (const char* user, gid_t group), user, group)
