// profile_origin.h: of which rank and on which host a process of a profile ran: as the file says, else as its name lets one guess.
//
// Room 3. A profile that many ranks were merged into says one rank of them all at its head, which is then of no use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "profile.h"

namespace hostprobe::analysis {

struct ProcessOrigin {
  int rank = -1;     // -1 = not known
  std::string host;  // "" = not known
  bool is_rank_guessed = false, is_host_guessed = false;
};

// "rank3", "Rank-3", "rank_3" in a text, not as a part of another word; the last one counts.
std::optional<int> rank_in(std::string_view text);

// The host in "HOST_PID.TIME.pt.trace.json", as PyTorch's own handler names files. "": that is no such name, or one of another process.
std::string host_in(std::string_view file_name, std::uint32_t pid);

// `source`: the path of the file; `is_alone`: no other process of it called the runtime.
ProcessOrigin origin_of(const Profile& profile, const std::string& id, const ProfileProcess& process,
                        const ProfileHead& head, const std::string& source, bool is_alone);

// What of it was guessed, for a person; "" = nothing.
std::string guesses_of(const ProcessOrigin& origin);

}  // namespace hostprobe::analysis
