// trigger_signal.h: the signal that asks for the last seconds (HOSTPROBE_TRIGGER_SIGNAL).
//
// Room 2 (probe/). Set up by the thread that starts the recording, before the process records; the handler runs on any thread of the
// program, in the middle of anything.
#pragma once

namespace hostprobe::probe {

// "USR2", "SIGUSR2", "RTMIN+3", "SIGRTMAX-1", "12"; 0: "none"; -1: not a signal, or one that must not be used: no program
// goes on behind its own fault.
int signal_number(const char* name);

// Sets the handler up, unless the program has one of its own for that signal or ignores it.
void watch_trigger_signal();

}  // namespace hostprobe::probe
