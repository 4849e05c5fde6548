// profile_event.h: one event of a profile in the trace event format, as text: nothing in it is believed yet.
//
// Room 3. Numbers may stand as strings, and strings where numbers belong; whoever needs a field parses it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/input/left_out.h"

namespace hostprobe::analysis {

enum class ProfileField : std::uint8_t {
  kPhase,
  kCategory,
  kName,
  kPid,
  kTid,
  kTime,
  kDuration,
  // of its "args"
  kOwnName,  // of a process or thread
  kLabels,
  kCorrelation,
  kDevice,
  kStream,
  kBytes,
  kSharedBytes,
  kGrid,   // a list: elements with a comma behind each
  kBlock,  // the same
  kInputDims,
  kInputType,
  kCollective,
  kDataType,
  kElementsIn,
  kElementsOut,
  kGroupSize,
  kGroupName,
  kGroupRanks,
  kRank,
  kSequence,
  kFromRank,
  kToRank,
  // of Ascend's profiles
  kId,         // of an arrow, not of its "args"
  kTaskType,   // of work on a device
  kLevel,      // of CANN's own call
  kPlaneTask,  // of a part of a collective
  kCount,
};

inline constexpr const char* kWaitCategory = "wait of libc";

struct ProfileEvent {
  std::array<std::string, static_cast<std::size_t>(ProfileField::kCount)> texts;
  std::uint64_t at = kNoPlace;  // byte of the text where it begins

  std::string& operator[](ProfileField field) { return texts[static_cast<std::size_t>(field)]; }
  const std::string& operator[](ProfileField field) const { return texts[static_cast<std::size_t>(field)]; }
  void clear() {
    for (std::string& text : texts) text.clear();
  }
};

// What a profile says of itself.
struct ProfileHead {
  std::string base_time_ns, rank, world_size, host, name;
};

// A whole number, also one written as "7.0" or 7e0; nothing else.
std::optional<std::int64_t> whole_number(std::string_view text);

// Microseconds, with a fraction or not, in nanoseconds; exact where they have up to three digits behind the point.
std::optional<std::int64_t> nanoseconds(std::string_view microseconds);

}  // namespace hostprobe::analysis
