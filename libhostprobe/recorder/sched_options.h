// sched_options.h: what `hostprobe sched` is to record, and the lists on its command line.
//
// Room kernel/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hostprobe::kernel {

enum class SourceKind { kTracefs, kBpf };

struct SchedOptions {
  SourceKind source = SourceKind::kTracefs;
  std::string run;      // the folder
  std::string command;  // what the trace says it comes from
  bool all = false;     // the whole machine; else these processes, the program, and what they start
  std::vector<int> pids;
  bool program = false;             // one is going to be started
  std::vector<int> cpus;            // empty: all
  std::vector<std::string> events;  // "system/name"
  double seconds = 0;               // 0: until it is stopped, or all of `pids` have ended
};

// "0-3,5". Throws std::invalid_argument with what is wrong.
std::vector<int> parse_cpus(const std::string& list, int configured);

// "sched_switch,softirq": names of events, or of what they are about; "": the usual ones. Throws std::invalid_argument for one that
// no row can tell of.
std::vector<std::string> parse_events(const std::string& list);

}  // namespace hostprobe::kernel
