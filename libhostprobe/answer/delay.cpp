// delay.cpp: see delay.h.
#include "delay.h"

namespace hostprobe::analysis {

const char* delay_link_name(DelayLink link) {
  switch (link) {
    case DelayLink::kPoll:
      return "poll";
    case DelayLink::kProgressIo:
      return "progress_io";
    case DelayLink::kWake:
      return "wake";
    case DelayLink::kLaunchGap:
      return "launch_gap";
    case DelayLink::kArrival:
      return "arrival";
    case DelayLink::kOthersWait:
      return "others_wait";
  }
  return "";
}

}  // namespace hostprobe::analysis
