// window_files.cpp: see window_files.h.
#include "window_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "import_files.h"

namespace hostprobe::analysis {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kNew = ".profile.json", kJoined = ".profile.joined.json";

std::vector<fs::path> new_windows(const std::string& run) {
  std::vector<fs::path> windows;
  std::error_code error;
  for (fs::directory_iterator at(run, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().ends_with(kNew)) windows.push_back(at->path());
  std::sort(windows.begin(), windows.end());
  return windows;
}

// "" = it is joined, or somebody else is at it.
std::string join_window(const fs::path& window, const std::string& run, std::size_t& traces) {
  std::string name = window.string();
  const std::string joined = name.substr(0, name.size() - kNew.size()) + std::string(kJoined);
  std::error_code error;
  fs::rename(window, joined, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  if (error)
    return error.message() + "; `hostprobe import -o COPY --kineto " + name + "` puts it into a copy of the folder";
  try {
    const ImportedFile file = import_files(ImportForm::kProfile, {joined}, run).front();
    traces += file.traces.size();
    return file.traces.empty() ? "nothing of it can be used: " + file.problem : file.problem;
  } catch (const std::system_error& failure) {
    fs::rename(joined, window, error);
    return failure.what();
  }
}

}  // namespace

JoinedWindows join_windows(const std::string& run) {
  JoinedWindows answer;
  for (const fs::path& window : new_windows(run))
    if (const std::string problem = join_window(window, run, answer.traces); !problem.empty())
      answer.problems.push_back(window.string() + ": " + problem);
  return answer;
}

}  // namespace hostprobe::analysis
