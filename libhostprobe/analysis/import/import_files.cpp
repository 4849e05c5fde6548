// import_files.cpp: see import_files.h.
#include "import_files.h"

#include <filesystem>
#include <system_error>

#include "analysis/trace/file_bytes.h"

#include "profile.h"
#include "profile_reader.h"
#include "profile_trace.h"
#include "table_trace.h"

namespace hostprobe::analysis {
namespace {

void add_profile(const std::string& run, const ReadProgress& progress, ImportedFile& file) {
  Profile profile(file.left_out);
  const ProfileReading reading = read_profile(
      file.path, [&](const ProfileEvent& event) { profile.add(event); }, file.left_out, progress);
  profile.finish();
  file.problem = reading.problem;
  file.traces = write_profile(profile, reading.head, file.path, run, file.left_out);
  if (file.traces.empty() && file.problem.empty()) file.problem = "no event of a process or a GPU is in it";
}

void add_table(const std::string& run, const ReadProgress& progress, ImportedFile& file) {
  TableReading reading = import_table(file.path, run, file.left_out, progress);
  file.problem = reading.problem;
  file.traces = std::move(reading.traces);
}

bool can_be_opened(ImportedFile& file) {
  try {
    TextFile opened(file.path);
  } catch (const std::system_error& error) {
    file.problem = error.code().message();
  }
  return file.problem.empty();
}

}  // namespace

std::vector<ImportedFile> import_files(ImportForm form, const std::vector<std::string>& paths, const std::string& run,
                                       const ImportProgress& progress) {
  std::uint64_t all = 0, done = 0;
  for (const std::string& path : paths) all += file_bytes(path);
  std::vector<ImportedFile> files(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    files[i].path = paths[i];
    const ReadProgress tell = [&](std::uint64_t bytes) {
      if (progress) progress(done + bytes, all);
    };
    if (can_be_opened(files[i])) (form == ImportForm::kProfile ? add_profile : add_table)(run, tell, files[i]);
    done += file_bytes(paths[i]);
  }
  return files;
}

}  // namespace hostprobe::analysis
