// verdict.cpp: see verdict.h.
#include "probe/process/verdict.h"

#include <sys/uio.h>
#include <unistd.h>

#include "probe/record/thread.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/library.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN bool g_said = false;

// Of a process, once; its forked children say it of themselves.
bool is_wanted() {
  HP_KEPT_BY_CHILDREN static long g_process = 0;
  if (!g_options.verbose || t_local.muted != 0) return false;
  const long self = system_call(SYS_getpid, 0, 0);
  if (g_said && g_process == self) return false;
  g_said = true;
  g_process = self;
  return true;
}

iovec part(const char* text) { return {const_cast<char*>(text), length_of(text)}; }

void say_at_start(const char* why, const char* program, const char* list) {
  char digits[24];
  char* first = digits + sizeof digits - 1;
  *first = 0;
  long rest = system_call(SYS_getpid, 0, 0);
  do *--first = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  const iovec parts[] = {part("hostprobe["), part(first), part("]: not recording: "), part(program), part(why),
                         part(list),         part("\n")};
  write_to_stderr(parts, sizeof parts / sizeof parts[0]);
}

}  // namespace

void say_off() {
  if (is_wanted()) say_at_start("HOSTPROBE_OFF is set", "", "");
}

void say_never(const char* program) {
  if (is_wanted()) say_at_start(" is none of HOSTPROBE_TARGET=", file_of(program), g_options.target);
}

void say_recording() {
  if (is_wanted()) say("recording to %s", g_file.path);
}

void say_never_began(bool is_target) {
  if (!is_wanted()) return;
  if (is_target)
    say("not recording: a target, but it made no call that is recorded");
  else
    say("not recording: it was given no rank, loaded neither PyTorch nor NCCL and called no GPU "
        "(HOSTPROBE_TARGET=auto)");
}

}  // namespace hostprobe::probe
