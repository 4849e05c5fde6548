// import_files.cpp: see import_files.h.
#include "import_files.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "trace/file_bytes.h"

#include "import/ftrace/kernel_text.h"
#include "import/kineto/profile.h"
#include "import/kineto/profile_reader.h"
#include "import/kineto/profile_trace.h"
#include "import/tracer_csv/table_trace.h"

namespace hostprobe::analysis {
namespace {

OnProfileEvent adding_to(Profile& profile) {
  return [&profile](const ProfileEvent& event) { profile.add(event); };
}

std::optional<ProfileReading> read_halves(const std::string& path, const ReadProgress& progress, Profile& profile,
                                          LeftOut& left_out) {
  LeftOut of_later;
  Profile later(of_later);
  const OnProfileEvent add = adding_to(profile), add_later = adding_to(later);
  auto reading = read_profile_halves(path, {add, left_out}, {add_later, of_later}, progress);
  if (reading) profile.append(std::move(later));
  return reading;
}

// Halves that do not fit together are forgotten.
Profile read_whole(const std::string& path, const ReadProgress& progress, LeftOut& left_out, ProfileReading& reading) {
  Profile halves(left_out);
  if (auto read = read_halves(path, progress, halves, left_out)) {
    reading = std::move(*read);
    return halves;
  }
  left_out = {};
  Profile profile(left_out);
  reading = read_profile(path, adding_to(profile), left_out, progress);
  return profile;
}

void add_profile(const std::string& run, const ReadProgress& progress, ImportedFile& file) {
  ProfileReading reading;
  Profile profile = read_whole(file.path, progress, file.left_out, reading);
  profile.finish();
  file.problem = reading.problem;
  file.traces = write_profile(profile, reading, file.path, run, file.left_out);
  if (file.traces.empty() && file.problem.empty()) file.problem = "no event of a process or a GPU is in it";
}

void add_table(const std::string& run, const ReadProgress& progress, ImportedFile& file) {
  TableReading reading = import_table(file.path, run, file.left_out, progress);
  file.problem = reading.problem;
  file.traces = std::move(reading.traces);
}

// As trace-cmd begins its files.
bool is_trace_dat(const std::string& path) {
  static constexpr char kMagic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
  char begin[sizeof(kMagic)] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  return std::memcmp(begin, kMagic, sizeof(kMagic)) == 0;
}

KernelReading add_trace_dat(const std::string& run, const KernelImport& kernel, ImportedFile& file) {
  KernelTable table(file.left_out);
  TraceTimes times;
  const std::string problem =
      kernel.read_dat ? kernel.read_dat(file.path, table, times)
                      : "this hostprobe was built without libtracecmd; import what `trace-cmd report` prints";
  // Of an instance's buffer the file names the clock of another: who says better knows better.
  if (!kernel.clock.empty()) times.clock = kernel.clock;
  if (times.clock == "x86-tsc") times.form = LineTime::kTicks;
  times.first = table.first_ticks();
  times.last = table.last_ticks();
  if (table.rows() == 0 && !problem.empty()) return {{}, problem, {}};
  if (table.lost() > 0) file.left_out.add("events that the kernel had lost", table.lost());
  KernelReading reading = write_kernel_table(table, times, file.path, run);
  if (reading.problem.empty()) reading.problem = problem;
  return reading;
}

void add_kernel(const std::string& run, const KernelImport& kernel, const ReadProgress& progress, ImportedFile& file) {
  KernelReading reading = is_trace_dat(file.path)
                              ? add_trace_dat(run, kernel, file)
                              : import_kernel_text(file.path, run, kernel.clock, file.left_out, progress);
  file.problem = reading.problem;
  file.note = reading.note;
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
                                       const ImportProgress& progress, const KernelImport& kernel) {
  std::uint64_t all = 0, done = 0;
  for (const std::string& path : paths) all += file_bytes(path);
  std::vector<ImportedFile> files(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    files[i].path = paths[i];
    const ReadProgress tell = [&](std::uint64_t bytes) {
      if (progress) progress(done + bytes, all);
    };
    if (can_be_opened(files[i])) {
      if (form == ImportForm::kKernel)
        add_kernel(run, kernel, tell, files[i]);
      else
        (form == ImportForm::kProfile ? add_profile : add_table)(run, tell, files[i]);
    }
    done += file_bytes(paths[i]);
  }
  return files;
}

}  // namespace hostprobe::analysis
