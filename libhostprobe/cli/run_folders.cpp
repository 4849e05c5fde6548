// run_folders.cpp: see run_folders.h.
#include "run_folders.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "command.h"
#include "import/window_files.h"
#include "output.h"
#include "settings/setting_value.h"
#include "trace/jobs.h"

namespace hostprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShown = 3;
// A slip must not read a whole data set: folders of them hold more names than anybody waits for.
constexpr int kMostEntries = 1000;

// Calls `visit` with the first entries of a folder, until it answers true.
template <class Visit>
bool any_entry(const fs::path& folder, Visit visit) {
  std::error_code error;
  int seen = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && seen < kMostEntries; ++seen) {
    if (visit(*at)) return true;
    at.increment(error);
  }
  return false;
}

bool is_run_folder(const fs::path& folder) {
  return any_entry(folder,
                   [](const fs::directory_entry& entry) { return analysis::is_run_file(entry.path().string()); });
}

std::vector<std::string> run_folders_in(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  any_entry(folder.empty() ? fs::path(".") : folder, [&](const fs::directory_entry& entry) {
    std::error_code error;
    if (!entry.is_directory(error) || !is_run_folder(entry.path())) return false;
    const fs::file_time_type time = entry.last_write_time(error);
    if (!error) found.emplace_back(time, (folder / entry.path().filename()).string());
    return false;
  });
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(found.size(), kMostShown); ++i) names.push_back(found[i].second);
  return names;
}

}  // namespace

std::vector<std::string> run_folders_near(const std::string& path) {
  fs::path whole(path);
  if (!whole.has_filename()) whole = whole.parent_path();  // "RUN/"
  std::vector<std::string> names = run_folders_in(whole.parent_path());
  if (names.empty() && whole.has_parent_path()) names = run_folders_in({});
  std::erase(names, whole.string());
  return names;
}

std::string run_folders_note(const std::string& path) {
  const std::vector<std::string> names = run_folders_near(path);
  return names.empty() ? "" : fmt::format("; run folders here, the newest first: {}", fmt::join(names, ", "));
}

void require_run(const std::string& path) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found)
    throw std::runtime_error(fmt::format("{}: No such file or directory{}", path, run_folders_note(path)));
}

NewRunFolder make_run_folder(const std::string& given) {
  const char* inherited = std::getenv("HOSTPROBE_OUT");
  std::string folder = given.empty() && inherited != nullptr ? inherited : given;
  if (folder.empty()) {
    const std::time_t now = std::time(nullptr);
    const std::string name = fmt::format("hostprobe-run-{:%Y%m%d-%H%M%S}", fmt::localtime(now));
    folder = name;
    for (int i = 2; fs::exists(folder); ++i) folder = fmt::format("{}-{}", name, i);
  }
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "RUN/"
  // The probe gets the whole path, and has no more room for it.
  if (path.string().size() >= kTextBytes)
    throw UsageError(
        fmt::format("run: the path of the run folder is longer than {} bytes: {}", kTextBytes - 1, folder));
  std::error_code error;
  const bool is_new = fs::create_directories(path, error);
  if (error) throw std::runtime_error(fmt::format("cannot make the run folder {}: {}", path.string(), error.message()));
  return {path.string(), is_new};
}

void join_windows(const std::string& run) {
  for (const std::string& problem : analysis::join_windows(run).problems)
    say("a profile window is not joined: " + problem);
}

}  // namespace hostprobe::cli
