// profile_reader.h: a profile in the trace event format (JSON, also gzip), event by event.
//
// Room 3. Only one event is held at a time, whatever the length of the file. Where the text stops being JSON, what stands
// before it counts, and why it stopped is said.
#pragma once

#include <functional>
#include <string>

#include "left_out.h"
#include "profile_event.h"
#include "text_file.h"

namespace hostprobe::analysis {

struct ProfileReading {
  ProfileHead head;
  std::uint64_t events = 0;
  std::string problem;  // "" = it was read to its end
};

// The event is its again after the call.
using OnProfileEvent = std::function<void(const ProfileEvent&)>;

// Of text: read in one piece up to here, which is quicker; else through small buffers.
inline constexpr std::size_t kMostWholeBytes = 256 << 20;

// Throws std::system_error when the file cannot be opened.
ProfileReading read_profile(const std::string& path, const OnProfileEvent& on_event, LeftOut& left_out,
                            const ReadProgress& progress = {}, std::size_t most_whole_bytes = kMostWholeBytes);

}  // namespace hostprobe::analysis
