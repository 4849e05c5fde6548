// ascend_event.h: an event of Ascend's devices (trace_view.json of torch_npu, msprof's timeline) in the words of other profiles.
//
// Room 3. Its events have no category: what they are stands in their arguments. Calls of CANN, tasks of the device and collectives lie
// in lanes, processes of the file that are none of the machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile_event.h"

namespace hostprobe::analysis {

inline constexpr const char* kAscendRangeCategory = "CANN";

// What an event without a category is.
enum class AscendKind : std::uint8_t {
  kNone,        // not of Ascend
  kEvent,       // a call, a range or work on the device, in Kineto's words now
  kCollective,  // an operation of HCCL, as the device did it
  kSignal,      // a task of the device that waits or signals
  kRepeated,    // told by other events as well
};

AscendKind to_kineto(ProfileEvent& event);

// "hcom_allReduce" of "hcom_allReduce__503_96_4": which one it is says no other rank.
std::string_view hcom_operation(std::string_view name);

// As the device did it; its call is on the host.
struct AscendCollective {
  std::int64_t begin_ns = 0, duration_ns = 0;
  std::uint32_t name = 0, pid = 0, tid = 0;  // in Profile::names
  std::uint64_t correlation = 0, elements = 0;
  int type = 0xff, size = 0;
};

// One end of an arrow from an operator of PyTorch to its work on the device.
struct AscendArrow {
  std::uint64_t id = 0;
  std::int64_t at_ns = 0;
  std::uint32_t pid = 0, tid = 0;  // in Profile::names
};

struct AscendParts {
  bool is_ascend = false;
  std::vector<AscendCollective> collectives;
  std::vector<AscendArrow> begins, ends;
  std::map<std::string, std::string> labels;  // of lanes
};

}  // namespace hostprobe::analysis
