// ascend_event.cpp: see ascend_event.h.
#include "ascend_event.h"

#include <algorithm>
#include <iterator>

namespace hostprobe::analysis {
namespace {

using Field = ProfileField;

constexpr std::string_view kHcom = "hcom_";
constexpr std::string_view kCalls = "AscendCL@";
constexpr std::string_view kLaunch = "Node@launch";

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The lane that says where communication was hidden: worked out of the others.
bool is_overlap_name(std::string_view name) {
  return name == "Computing" || name == "Communication" || name == "Communication(Not Overlapped)" || name == "Free";
}

// Streams stand still in them.
bool is_signal(std::string_view type) {
  static constexpr std::string_view kParts[] = {"WAIT", "RECORD", "PLACE_HOLDER", "NOP"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [type](std::string_view part) { return contains(type, part); });
}

// 32 and 64 bits of ones stand for none.
void check_connection(std::string& id) {
  if (id == "4294967295" || id == "18446744073709551615") id.clear();
}

AscendKind to_activity(ProfileEvent& event) {
  const std::string& type = event[Field::kTaskType];
  const std::string& name = event[Field::kName];
  if (is_signal(type) || is_signal(name)) return AscendKind::kSignal;
  event[Field::kCategory] = contains(name, "MEMCPY") || contains(type, "MEMCPY") ? "gpu_memcpy" : "kernel";
  event[Field::kStream] = event[Field::kTid];
  return AscendKind::kEvent;
}

// Its levels lie in each other. A launch is a launch on one of them, the one that the device's work names; what CANN does inside of it is
// a range.
AscendKind to_call(ProfileEvent& event) {
  std::string& name = event[Field::kName];
  const bool is_acl = name.starts_with(kCalls) && !contains(name, "Launch") && !name.starts_with("AscendCL@aclnn");
  if (is_acl) name.erase(0, kCalls.size());
  event[Field::kCategory] = is_acl || name == kLaunch ? "cann_runtime" : kAscendRangeCategory;
  return AscendKind::kEvent;
}

}  // namespace

AscendKind to_kineto(ProfileEvent& event) {
  check_connection(event[Field::kCorrelation]);
  if (!event[Field::kPlaneTask].empty() || is_overlap_name(event[Field::kName])) return AscendKind::kRepeated;
  if (event[Field::kName].starts_with(kHcom) && event[Field::kTaskType].empty()) return AscendKind::kCollective;
  if (!event[Field::kTaskType].empty()) return to_activity(event);
  return event[Field::kLevel].empty() ? AscendKind::kNone : to_call(event);
}

std::string_view hcom_operation(std::string_view name) {
  return name.substr(0, name.find('_', std::min(kHcom.size(), name.size())));
}

}  // namespace hostprobe::analysis
