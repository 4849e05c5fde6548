// job_file.cpp: see job_file.h.
#include "job_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "analysis/version.h"

namespace hostprobe::cli {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

void write_file(const std::string& path, int flags, const std::string& text) {
  const int file = open(path.c_str(), flags | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "cannot make " + path);
  const ssize_t written = write(file, text.data(), text.size());
  int error = written == static_cast<ssize_t>(text.size()) ? 0 : (written < 0 ? errno : ENOSPC);
  if (error == 0 && ftruncate(file, written) != 0) error = errno;
  close(file);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot write " + path);
}

}  // namespace

JobFile::JobFile(const std::string& run, const std::vector<std::string>& arguments, int program_pid)
    : host_(host_name()), arguments_(arguments), program_pid_(program_pid) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(started_.time_since_epoch()).count();
  path_ = fmt::format("{}/{}-{}-{}.job.json", run, host_, program_pid, ns);
  write_file(path_, O_CREAT | O_EXCL, text(0, false));
}

void JobFile::finish(int status) noexcept {
  try {
    write_file(path_, 0, text(status, true));
  } catch (const std::exception&) {
    // The start is on disk; nobody waits for the rest.
  }
}

std::string JobFile::text(int status, bool ended) const {
  nlohmann::ordered_json json = {
      {"schema", 1},
      {"hostprobe", {{"version", analysis::version()}, {"commit", analysis::commit()}}},
      {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(started_)))},
      {"host", host_},
      {"pid", program_pid_},
      {"argv", arguments_},
      {"status", nullptr},
      {"wall_s", nullptr}};
  if (ended) {
    json["status"] = status;
    json["wall_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace hostprobe::cli
