// job_file.cpp: see job_file.h.
#include "job_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "report/json_text.h"
#include "report/version.h"
#include "trace/job_file.h"

namespace hostprobe::cli {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

void write_text(int file, const std::string& text) {
  const ssize_t written = pwrite(file, text.data(), text.size(), 0);
  int error = written == static_cast<ssize_t>(text.size()) ? 0 : (written < 0 ? errno : ENOSPC);
  if (error == 0 && ftruncate(file, written) != 0) error = errno;
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot write the job file");
}

}  // namespace

JobFile::JobFile(const std::string& run, const std::vector<std::string>& arguments, const Recording& recording,
                 int program_pid)
    : host_(host_name()), arguments_(arguments), recording_(recording), program_pid_(program_pid) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(started_.time_since_epoch()).count();
  path_ = fmt::format("{}/{}-{}-{}{}", run, host_, program_pid, ns, analysis::kJobFileSuffix);
  file_ = open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make " + path_);
  try {
    write_text(file_, text({}, ""));
  } catch (...) {
    close(file_);
    throw;
  }
}

JobFile::~JobFile() { close(file_); }

void JobFile::finish(int status) noexcept { write(status, ""); }

void JobFile::fail(const std::string& error) noexcept { write({}, error); }

void JobFile::write(const std::optional<int>& status, const std::string& start_error) noexcept {
  try {
    write_text(file_, text(status, start_error));
  } catch (const std::exception&) {
    // The start is on disk; nobody waits for the rest.
  }
}

std::string JobFile::text(const std::optional<int>& status, const std::string& start_error) const {
  analysis::JsonValue json = {
      {"schema", 1},
      {"hostprobe", {{"version", analysis::version()}, {"commit", analysis::commit()}}},
      {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(started_)))},
      {"host", host_},
      {"pid", program_pid_},
      {"argv", arguments_},
      {"target", recording_.target},
      {"off", recording_.off},
      {"load_obstacle", recording_.load_obstacle},
      {"start_error", start_error},
      {"status", nullptr},
      {"wall_s", nullptr}};
  if (status) {
    json["status"] = *status;
    json["wall_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  return analysis::json_text(json, 1) + "\n";
}

}  // namespace hostprobe::cli
