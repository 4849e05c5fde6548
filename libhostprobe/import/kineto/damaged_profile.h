// damaged_profile.h: a profile that is not JSON from front to end: every event in it that is whole, and what was wrong with the rest.
//
// Room 3. An event is an object of the list of events whose brackets fit together. Behind damage the reading goes on where the next
// one begins. Nothing is made up: an event that may be the begin of one and the end of another is left out. As much of the text is held
// as the longest event has, so any length of file can be read.
#pragma once

#include <functional>
#include <string>

#include "profile_reader.h"

namespace hostprobe::analysis {

// An event that is longer is left out.
inline constexpr std::size_t kMostEventBytes = 16 << 20;

struct DamagedProfile {
  const OnProfileEvent& on_event;
  LeftOut& left_out;  // of the document that is read
  // Behind the events of each document: a file may hold several, one behind the other.
  const std::function<void(const ProfileReading&)>& on_document;
};

// Throws std::system_error when the file cannot be opened.
void read_damaged_profile(const std::string& path, const DamagedProfile& profile, const ReadProgress& progress = {});

}  // namespace hostprobe::analysis
