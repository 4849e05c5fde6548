// archive.cpp: see archive.h.
#include "archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>

#include "trace/trace_head.h"
#include "words/json_string.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kBlockBytes = 512;
constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 33) - 1;  // 11 octal digits

std::string padding(std::uint64_t bytes) {
  return std::string((kBlockBytes - bytes % kBlockBytes) % kBlockBytes, '\0');
}

// POSIX ustar: names, numbers as octal digits, and the sum of all bytes with its own field blank.
std::string tar_header(const std::string& name, std::uint64_t bytes) {
  std::string block(kBlockBytes, '\0');
  const auto put = [&block](std::size_t at, std::string_view text) {
    std::memcpy(&block[at], text.data(), text.size());
  };
  put(0, std::string_view(name).substr(0, 100));
  put(100, "0000600");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", bytes));
  put(136, "00000000000");  // no date: the same run gives the same archive
  put(148, "        ");
  put(156, "0");
  put(257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char one : block) sum += static_cast<unsigned char>(one);
  put(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

// A host's name comes from its file: in a path nothing but these.
std::string plain(const std::string& host) {
  std::string name = host.substr(0, 64);
  for (char& one : name)
    if (std::strchr("-_.", one) == nullptr && !std::isalnum(static_cast<unsigned char>(one))) one = '_';
  return name.empty() || name.front() == '.' ? "host" + name : name;
}

std::string file_name(const std::string& host, std::set<std::string>& taken) {
  std::string name = plain(host) + ".pftrace";
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = fmt::format("{}-{}.pftrace", plain(host), number);
  return name;
}

// The first is the one on whose clock the others are placed: one of those that are aligned, where any are.
std::vector<std::string> hosts_of(const ChosenJob& run, const std::map<std::string, HostClock>& clocks) {
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  for (const RunFile& file : run_files(run.traces))
    if (const std::string host = host_of(file.header); !host.empty() && seen.insert(host).second) hosts.push_back(host);
  std::stable_partition(hosts.begin(), hosts.end(),
                        [&clocks](const std::string& host) { return clocks.contains(host); });
  return hosts;
}

}  // namespace

PerfettoArchive::PerfettoArchive(const ExportRequest& request, std::map<std::string, HostClock> clocks,
                                 const ExportProgress& progress)
    : request_(request), clocks_(std::move(clocks)) {
  std::set<std::string> taken;
  for (const std::string& host : hosts_of(request_.run, clocks_)) {
    File file{host, file_name(host, taken)};
    write_host(
        host, [&file](std::string_view bytes) { file.bytes += bytes.size(); }, progress);
    if (file.bytes > kMostBytes)
      throw std::runtime_error(fmt::format(
          "{} would be {} MB, more than an archive can hold: choose --ranks or --steps", file.name, file.bytes >> 20));
    files_.push_back(file);
  }
}

std::vector<std::string> PerfettoArchive::write_host(const std::string& host, const Sink& sink,
                                                     const ExportProgress& progress) const {
  ChosenJob part = request_.run, all = request_.together == nullptr ? request_.run : *request_.together;
  part.keep_host(host);
  all.keep_host(host);
  return perfetto_form().write({part, request_.steps, &all, request_.spans_of_hosts}, sink, progress);
}

std::string PerfettoArchive::manifest() const {
  std::string entries;
  for (const File& file : files_) {
    entries += fmt::format(R"({}{{"path":{},"machine":{{"name":{}}})", entries.empty() ? "" : ",", json_text(file.name),
                           json_text(file.host));
    const auto first = clocks_.find(files_.front().host), own = clocks_.find(file.host);
    if (&file != &files_.front() && first != clocks_.end() && own != clocks_.end())
      entries +=
          fmt::format(R"(,"clocks":{{"clock":"BOOTTIME","sync_to":{{"file":{},"clock":"BOOTTIME"}},"offset_ns":{}}})",
                      json_text(files_.front().name), std::llround(first->second.offset_ns - own->second.offset_ns));
    entries += '}';
  }
  return fmt::format(
      R"({{"perfetto_manifest":{{"version":1,"trace_time":{{"clock":"BOOTTIME","file":{}}},"files":[{}]}}}})",
      json_text(files_.front().name), entries);
}

std::vector<std::string> PerfettoArchive::write(const Sink& sink, const ExportProgress& progress) const {
  std::vector<std::string> problems;
  const std::string names = manifest();
  sink(tar_header("perfetto_manifest.json", names.size()) + names + padding(names.size()));
  for (const File& file : files_) {
    sink(tar_header(file.name, file.bytes));
    std::uint64_t written = 0;
    const auto count = [&](std::string_view bytes) { written += bytes.size(), sink(bytes); };
    for (std::string& problem : write_host(file.host, count, progress)) problems.push_back(std::move(problem));
    if (written != file.bytes)
      throw std::runtime_error("the run changed while it was written: try again when it has ended");
    sink(padding(file.bytes));
  }
  sink(std::string(2 * kBlockBytes, '\0'));
  return problems;
}

}  // namespace hostprobe::analysis
