// trigger_signal.cpp: see trigger_signal.h. The handler calls nothing but what may be called in one, and keeps errno.
#include "probe/control/trigger_signal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "probe/record/trigger.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"
#include "settings/signal_name.h"

namespace hostprobe::probe {
namespace {

char* append(char* to, const char* text) {
  copy_string(to, text);
  return to + length_of(text);
}

char* append(char* to, unsigned number) {
  char digits[16];
  unsigned at = sizeof digits - 1;
  digits[at] = 0;
  do digits[--at] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  return append(to, digits + at);
}

void on_signal(int number, siginfo_t* sender, void*) {
  int saved = errno;
  char text[sizeof(Trigger::text)];
  char* end = append(append(text, "signal "), static_cast<unsigned>(number));
  if (const char* name = sigabbrev_np(number)) end = append(append(append(end, " (SIG"), name), ")");
  if (sender->si_code == SI_USER || sender->si_code == SI_QUEUE || sender->si_code == SI_TKILL)
    append(append(end, " from process "), static_cast<unsigned>(sender->si_pid));
  request_trigger(kBySignal, text);
  errno = saved;
}

}  // namespace

int signal_number(const char* name) { return trigger_signal_number(name, {sigabbrev_np, SIGRTMIN, SIGRTMAX}); }

void watch_trigger_signal() {
  int number = signal_number(g_options.trigger_signal);
  if (number < 0)
    say("HOSTPROBE_TRIGGER_SIGNAL=%.60s cannot be used (not a signal, or not one to go on after); the default none is "
        "used",
        g_options.trigger_signal);
  if (number <= 0) return;
  struct sigaction before {};
  if (sigaction(number, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL)
    return;
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  sigaction(number, &ours, nullptr);
}

}  // namespace hostprobe::probe
