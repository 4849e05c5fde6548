// import_files.cpp: see import_files.h.
#include "import_files.h"

#include <filesystem>
#include <system_error>

#include "profile.h"
#include "profile_reader.h"
#include "profile_trace.h"

namespace hostprobe::analysis {
namespace {

std::uint64_t bytes_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

ImportedFile import_profile(const std::string& path, const std::string& run, const ReadProgress& progress) {
  ImportedFile file;
  file.path = path;
  Profile profile(file.left_out);
  ProfileReading reading;
  try {
    reading = read_profile(
        path, [&](const ProfileEvent& event) { profile.add(event); }, file.left_out, progress);
  } catch (const std::system_error& error) {
    file.problem = error.code().message();
    return file;
  }
  profile.finish();
  file.problem = reading.problem;
  file.traces = write_profile(profile, reading.head, path, run, file.left_out);
  if (file.traces.empty() && file.problem.empty()) file.problem = "no event of a process or a GPU is in it";
  return file;
}

}  // namespace

std::vector<ImportedFile> import_profiles(const std::vector<std::string>& paths, const std::string& run,
                                          const ImportProgress& progress) {
  std::uint64_t all = 0, done = 0;
  for (const std::string& path : paths) all += bytes_of(path);
  std::vector<ImportedFile> files;
  for (const std::string& path : paths) {
    files.push_back(import_profile(path, run, [&](std::uint64_t bytes) {
      if (progress) progress(done + bytes, all);
    }));
    done += bytes_of(path);
  }
  return files;
}

}  // namespace hostprobe::analysis
