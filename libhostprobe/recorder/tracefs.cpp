// tracefs.cpp: see tracefs.h.
#include "tracefs.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tracefs_calls.h"

namespace hostprobe::kernel {
namespace {

constexpr char kFolder[] = "/sys/kernel/tracing";
constexpr char kBegin[] = "hostprobe-";
constexpr std::size_t kBufferKb = 8 << 10;  // of a CPU
constexpr std::size_t kMostKb = 512 << 10;  // of all
constexpr std::size_t kLeastKb = 1 << 10;

bool is_mounted() {
  std::ifstream mounts("/proc/self/mounts");
  std::string what, where, type, rest;
  while (mounts >> what >> where >> type && std::getline(mounts, rest))
    if (type == "tracefs") return true;
  return false;
}

// When it began, in ticks since the machine did; "" = there is no such process.
std::string start_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // a name may hold anything
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return {};
  const char state = text[name_end + 2];
  if (state == 'Z' || state == 'X') return {};  // dead, and nobody has looked
  std::size_t at = name_end + 1;
  for (int field = 2; field < 22; ++field) {
    at = text.find(' ', at);
    if (at == std::string::npos) return {};
    ++at;
  }
  return text.substr(at, text.find(' ', at) - at);
}

std::string pid_namespace() {
  char link[64] = {};
  const ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
  std::string digits;
  for (ssize_t i = 0; i < length; ++i)
    if (link[i] >= '0' && link[i] <= '9') digits += link[i];
  return digits;
}

// One of ours whose process is gone. Of another namespace nobody here can know.
bool is_left_behind(const std::string& name) {
  if (!name.starts_with(kBegin)) return false;
  int pid = 0;
  const char* begin = name.data() + sizeof(kBegin) - 1;
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), pid);
  if (error != std::errc() || pid <= 0 || !name.ends_with("-" + pid_namespace())) return false;
  const std::string start = start_of(pid);
  return start.empty() || !name.starts_with(fmt::format("{}{}-{}-", kBegin, pid, start));
}

void remove_instance(const std::string& path) {
  std::ofstream(path + "/tracing_on") << "0";
  std::ofstream(path + "/events/enable") << "0";
  rmdir(path.c_str());
}

std::size_t buffer_kb() {
  const auto cpus = static_cast<std::size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  return std::clamp(kMostKb / cpus, kLeastKb, kBufferKb);
}

}  // namespace

std::string reach_tracefs() {
  if (!is_mounted()) {
    if (geteuid() != 0)
      return "recording the kernel's scheduler takes root (or the capabilities to mount and read tracefs)";
    // Not for the rest of the machine: nobody asked for that.
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("nodev", kFolder, "tracefs", 0, nullptr) != 0)
      return fmt::format("tracefs is not mounted and cannot be ({}); as root of the machine: mount -t tracefs nodev {}",
                         std::strerror(errno), kFolder);
  }
  const char* folder = tracefs_tracing_dir();
  if (folder == nullptr) return "tracefs cannot be found";
  if (access((std::string(folder) + "/instances").c_str(), W_OK) != 0)
    return fmt::format("{}/instances cannot be written ({}): recording the kernel's scheduler takes root", folder,
                       std::strerror(errno));
  return {};
}

std::string instance_name(int pid, const char* part) {
  return fmt::format("{}{}-{}-{}-{}", kBegin, pid, start_of(pid), part, pid_namespace());
}

int sweep_instances() {
  const char* folder = tracefs_tracing_dir();
  if (folder == nullptr) return 0;
  const std::string instances = std::string(folder) + "/instances";
  std::vector<std::string> names;
  if (DIR* open = opendir(instances.c_str())) {
    while (const dirent* entry = readdir(open)) names.emplace_back(entry->d_name);
    closedir(open);
  }
  int swept = 0;
  for (const std::string& name : names) {
    if (!is_left_behind(name)) continue;
    remove_instance(instances + "/" + name);
    ++swept;
  }
  return swept;
}

Instance::Instance(const std::string& name, std::vector<std::string> events, const std::vector<int>& cpus)
    : events_(std::move(events)) {
  instance_ = tracefs_instance_create(name.c_str());
  if (instance_ == nullptr)
    throw std::runtime_error(fmt::format("cannot make an instance of tracing: {}", std::strerror(errno)));
  try {
    turn(false);
    char* clocks = tracefs_instance_file_read(instance_, "trace_clock", nullptr);
    has_ticks_ = clocks != nullptr && std::strstr(clocks, "x86-tsc") != nullptr;
    free(clocks);
    write("trace_clock", has_ticks_ ? "x86-tsc" : "mono");
    write("buffer_size_kb", std::to_string(buffer_kb()));
    write("options/event-fork", "1");
    if (cpus.empty()) return;
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus.back()) + 1);
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus.back()) + 1);
    CPU_ZERO_S(bytes, set);
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
    const int done = tracefs_instance_set_affinity_set(instance_, set, bytes);
    CPU_FREE(set);
    if (done != 0) throw std::runtime_error("the kernel refuses this list of CPUs");
  } catch (...) {
    tracefs_instance_destroy(instance_);
    tracefs_instance_free(instance_);
    throw;
  }
}

Instance::~Instance() {
  tracefs_instance_file_write(instance_, "tracing_on", "0");
  tracefs_instance_file_write(instance_, "events/enable", "0");
  // Busy as long as one of its files is open, which a kernel may close a little later than we did.
  for (int attempt = 0; tracefs_instance_destroy(instance_) != 0 && attempt < 100; ++attempt) usleep(10'000);
  tracefs_instance_free(instance_);
}

void Instance::write(const char* file, const std::string& text) {
  if (tracefs_instance_file_write(instance_, file, text.c_str()) < 0)
    throw std::runtime_error(fmt::format("cannot write '{}' into tracing's {}: {}", text, file, std::strerror(errno)));
}

void Instance::limit_to(const std::vector<int>& tids) {
  for (const int tid : tids)
    // One that has ended meanwhile is none to record.
    if (tracefs_instance_file_append(instance_, "set_event_pid", std::to_string(tid).c_str()) < 0 && errno != ESRCH)
      throw std::runtime_error(fmt::format("cannot limit tracing to {}: {}", tid, std::strerror(errno)));
}

void Instance::switch_events() {
  std::size_t done = 0;
  for (const std::string& event : events_) {
    const std::size_t slash = event.find('/');
    if (tracefs_event_enable(instance_, event.substr(0, slash).c_str(), event.substr(slash + 1).c_str()) == 0)
      ++done;
    else
      missing_.push_back(event);
  }
  if (done == 0) throw std::runtime_error("this kernel has none of the events");
}

void Instance::turn(bool on) { write("tracing_on", on ? "1" : "0"); }

std::uint64_t Instance::lost(int cpu) const {
  char* text = tracefs_instance_file_read(instance_, fmt::format("per_cpu/cpu{}/stats", cpu).c_str(), nullptr);
  if (text == nullptr) return 0;
  std::uint64_t sum = 0;
  for (const char* name : {"\noverrun: ", "\ncommit overrun: ", "\ndropped events: "})
    if (const char* found = std::strstr(text, name)) sum += std::strtoull(found + std::strlen(name), nullptr, 10);
  free(text);
  return sum;
}

}  // namespace hostprobe::kernel
