// profile_reader.h: a profile in the trace event format (JSON, also gzip), event by event.
//
// Room 3. Only one event is held at a time, whatever the length of the file. Where the text stops being JSON, why is said;
// damaged_profile.h reads what is whole of such a file.
#pragma once

#include <optional>
#include <string>

#include "event_builder.h"
#include "import/input/left_out.h"
#include "import/input/text_file.h"

namespace hostprobe::analysis {

struct ProfileReading {
  ProfileHead head;
  std::uint64_t events = 0;
  std::string problem;  // "" = it was read to its end
  // Of the text, where there is a problem: before it, and in all; `all_bytes` 0: how long it is nobody knows.
  std::uint64_t read_bytes = 0, all_bytes = 0;
};

// Of text: read in one piece up to here, which is quicker; else through small buffers.
inline constexpr std::size_t kMostWholeBytes = 256 << 20;

// Throws std::system_error when the file cannot be opened.
ProfileReading read_profile(const std::string& path, const OnProfileEvent& on_event, LeftOut& left_out,
                            const ReadProgress& progress = {}, std::size_t most_whole_bytes = kMostWholeBytes);

// Who is told of a part of the events, on a thread of its own.
struct ProfilePart {
  const OnProfileEvent& on_event;
  LeftOut& left_out;
};

// Shorter ones are read before another thread has begun.
inline constexpr std::size_t kLeastHalvedBytes = 1 << 20;

// A text that is read in one piece, from its begin and from its middle on at a time. Events that `first` was told stand before those of
// `second`. Nothing: it is shorter, has no place where it could be halved, or is damaged; whatever was told is to be forgotten
// then, and read_profile reads it.
std::optional<ProfileReading> read_profile_halves(const std::string& path, const ProfilePart& first,
                                                  const ProfilePart& second, const ReadProgress& progress = {},
                                                  std::size_t least_bytes = kLeastHalvedBytes);

}  // namespace hostprobe::analysis
