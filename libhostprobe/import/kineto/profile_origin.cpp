// profile_origin.cpp: see profile_origin.h.
#include "profile_origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "import/input/characters.h"

namespace hostprobe::analysis {
namespace {

constexpr std::string_view kRank = "rank";
constexpr int kMostRank = 1 << 24;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

std::optional<int> small_rank(std::string_view text) {
  const std::optional<std::int64_t> value = whole_number(text);
  if (!value || *value < 0 || *value > kMostRank) return std::nullopt;
  return static_cast<int>(*value);
}

// The job's ranks in "[0, 2, 4]".
std::vector<int> listed_ranks(std::string_view list) {
  std::vector<int> ranks;
  for (std::size_t at = 0; at < list.size();) {
    std::size_t end = at;
    while (end < list.size() && is_digit(list[end])) ++end;
    if (const auto rank = small_rank(list.substr(at, end - at)); end > at && rank) ranks.push_back(*rank);
    at = std::max(end, at + 1);
  }
  return ranks;
}

// As the process's own collectives say: its number in a group, and the ranks of that group. They must agree.
std::optional<int> rank_of_collectives(const Profile& profile, const ProfileProcess& process) {
  std::optional<int> found;
  std::uint32_t group = 0;
  int number = -1;
  for (const ProfileCollective& call : process.collectives) {
    if (call.rank < 0 || (found && call.group == group && call.rank == number)) continue;
    const std::vector<int> ranks = listed_ranks(profile.name(call.group));
    if (static_cast<int>(ranks.size()) != call.size) continue;
    const int rank = ranks[static_cast<std::size_t>(call.rank)];
    if (found && *found != rank) return std::nullopt;
    found = rank;
    group = call.group;
    number = call.rank;
  }
  return found;
}

// torch_npu leaves profiler_info_RANK.json above the folder of its trace_view.json; nothing: there is none, or there are several.
std::optional<int> rank_beside(const std::filesystem::path& path) {
  constexpr std::string_view kInfo = "profiler_info_", kJson = ".json";
  std::optional<int> found;
  std::error_code error;
  for (const auto& one : std::filesystem::directory_iterator(path.parent_path() / "..", error)) {
    const std::string name = one.path().filename().string();
    if (!name.starts_with(kInfo) || !name.ends_with(kJson)) continue;
    const std::string_view number(name.data() + kInfo.size(), name.size() - kInfo.size() - kJson.size());
    if (found) return std::nullopt;
    found = small_rank(number);
  }
  return found;
}

std::optional<int> rank_of_path(const std::string& source) {
  const std::filesystem::path path(source);
  const auto own = rank_in(path.filename().string());
  if (own) return own;
  const auto folder = rank_in(path.parent_path().filename().string());
  return folder || path.filename() != "trace_view.json" ? folder : rank_beside(path);
}

// As tensorboard_trace_handler names a profile of torch_npu: HOST_PID_TIME_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json.
std::string host_of_folder(const std::filesystem::path& path, std::uint32_t pid) {
  const std::string name = path.parent_path().parent_path().filename().string();
  if (path.filename() != "trace_view.json" || !name.ends_with("_ascend_pt")) return {};
  const std::size_t found = name.find(fmt::format("_{}_", pid));
  return name.substr(0, found == std::string::npos ? 0 : found);
}

std::optional<int> rank_in_file(const Profile& profile, const std::string& id, const ProfileProcess& process,
                                const ProfileHead& head, bool is_alone) {
  if (const auto rank = is_alone ? small_rank(head.rank) : std::nullopt) return rank;
  if (const auto rank = rank_of_collectives(profile, process)) return rank;
  if (const auto rank = rank_in(id)) return rank;
  return rank_in(process.name);
}

}  // namespace

std::optional<int> rank_in(std::string_view text) {
  std::string plain;
  for (const char c : text) plain += lower(c);
  for (std::size_t at = plain.rfind(kRank); at != std::string::npos;
       at = at == 0 ? std::string::npos : plain.rfind(kRank, at - 1)) {
    std::size_t begin = at + kRank.size();
    if (begin < plain.size() && std::string_view("-_ =.:#[").find(plain[begin]) != std::string_view::npos) ++begin;
    std::size_t end = begin;
    while (end < plain.size() && is_digit(plain[end])) ++end;
    const bool is_word = at == 0 || !is_letter(plain[at - 1]);
    if (const auto rank = small_rank(std::string_view(plain).substr(begin, end - begin)); is_word && rank) return rank;
  }
  return std::nullopt;
}

std::string host_in(std::string_view file_name, std::uint32_t pid) {
  if (file_name.find(".pt.trace.json") == std::string_view::npos) return {};
  const std::string own = fmt::format("_{}.", pid);
  const std::size_t found = file_name.find(own);
  return std::string(file_name.substr(0, found == std::string_view::npos ? 0 : found));
}

ProcessOrigin origin_of(const Profile& profile, const std::string& id, const ProfileProcess& process,
                        const ProfileHead& head, const std::string& source, bool is_alone) {
  ProcessOrigin origin;
  origin.host = head.host;
  const auto said = rank_in_file(profile, id, process, head, is_alone);
  const auto guessed = said || !is_alone ? std::nullopt : rank_of_path(source);
  origin.is_rank_guessed = guessed.has_value();
  origin.rank = said.value_or(guessed.value_or(-1));
  if (!origin.host.empty()) return origin;
  origin.host = host_in(std::filesystem::path(source).filename().string(), process.pid);
  if (origin.host.empty()) origin.host = host_of_folder(source, process.pid);
  origin.is_host_guessed = !origin.host.empty();
  return origin;
}

std::string guesses_of(const ProcessOrigin& origin) {
  if (!origin.is_rank_guessed && !origin.is_host_guessed) return {};
  std::string text = origin.is_rank_guessed ? fmt::format("rank {}", origin.rank) : "";
  if (origin.is_host_guessed) text += fmt::format("{}host {}", text.empty() ? "" : " and ", origin.host);
  return text + " guessed from the name of the file";
}

}  // namespace hostprobe::analysis
