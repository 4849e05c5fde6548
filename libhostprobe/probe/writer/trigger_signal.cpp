// trigger_signal.cpp: see trigger_signal.h. The handler calls nothing but what may be called in one, and keeps errno.
#include "probe/writer/trigger_signal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "probe/record/trigger.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"

namespace hostprobe::probe {
namespace {

// Digits alone, at most 65; -1: something else.
int small_number(const char* text) {
  int number = 0;
  if (*text == 0) return -1;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || number > 64) return -1;
    number = number * 10 + (*text - '0');
  }
  return number;
}

int realtime_number(const char* name) {
  bool from_end = after(name, "RTMAX") != nullptr;
  const char* rest = from_end ? after(name, "RTMAX") : after(name, "RTMIN");
  if (rest == nullptr) return -1;
  int distance = *rest == 0 ? 0 : *rest == (from_end ? '-' : '+') ? small_number(rest + 1) : -1;
  if (distance < 0) return -1;
  int number = from_end ? SIGRTMAX - distance : SIGRTMIN + distance;
  return number >= SIGRTMIN && number <= SIGRTMAX ? number : -1;
}

int named_number(const char* name) {
  if (const char* rest = after(name, "SIG")) name = rest;
  for (int i = 1; i < SIGRTMIN; ++i) {
    const char* known = sigabbrev_np(i);
    if (known != nullptr && same(known, name)) return i;
  }
  return realtime_number(name);
}

constexpr int kNeverUsed[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT, SIGKILL, SIGSTOP};

bool may_be_used(int number) {
  for (int fault : kNeverUsed)
    if (number == fault) return false;
  // Those below SIGRTMIN that have no name are libc's own.
  return number > 0 && number <= SIGRTMAX && (number >= SIGRTMIN || sigabbrev_np(number) != nullptr);
}

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

int signal_number(const char* name) {
  if (same(name, "none")) return 0;
  int number = small_number(name);
  if (number < 0) number = named_number(name);
  return may_be_used(number) ? number : -1;
}

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
