// credentials.cpp: see credentials.h; the functions of libc that do it.
//
// Room 2 (probe/). Nothing is recorded here. Cold. Capabilities are each thread's own, so a program of one thread that keeps some
// over the change would be ended because of our writer. The file itself stays whose it was.
#include "probe/process/credentials.h"

#include <signal.h>

#include "probe/intercept/loader.h"
#include "probe/process/lifecycle.h"
#include "probe/record/chunk.h"
#include "probe/record/hook.h"
#include "probe/record/shelter.h"
#include "probe/runtime/signal_frame.h"
#include "probe/writer/file/passed_file.h"
#include "probe/writer/file/trace_file.h"
#include "probe/writer/own_thread.h"

namespace hostprobe::probe {

CredentialsChange::CredentialsChange(uid_t user) : error_(errno), concerns_us_(trace_is_ours()) {
  if (concerns_us_) prepare(user);
  errno = error_;
}

void CredentialsChange::prepare(uid_t user) {
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

void CredentialsChange::finish(bool changed) {
  std::uint32_t unused = 0;
  if (segment_moved_ && !changed) give_segment_to(segment_owner_, unused);
  if (!end_absence()) return;
  const int fd = open_by_path();
  if (fd >= 0) close(fd);
  if (fd >= 0 && !had_writer_) return close_parked_file();
  if (!in_handler_) let_writer_return();
  if (has_writer()) close_parked_file();
}

}  // namespace hostprobe::probe

using namespace hostprobe::probe;

#define HP_CREDENTIALS_HOOK(name, user_, params, ...)                    \
  HP_ROW(kThread, kOther, name, "GLIBC_2.2.5", 0, 0, "", "", "", "", "") \
  extern "C" HP_EXPORT int hp_##name params __asm__(#name);              \
  extern "C" int hp_##name params {                                      \
    auto real = libc_target<int(*) params>(g_hook_##name);               \
    mark_used(g_hook_##name);                                            \
    CredentialsChange change(user_);                                     \
    return change.done(real(__VA_ARGS__));                               \
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
