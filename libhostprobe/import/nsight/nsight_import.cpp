// nsight_import.cpp: see nsight_import.h.
#include "nsight_import.h"

#include <fmt/format.h>

#include <unordered_map>

#include "database.h"
#include "import/kineto/profile_trace.h"

namespace hostprobe::analysis {
namespace {

using Field = ProfileField;

constexpr std::int64_t kIds = 1 << 24;  // processes, and threads of one, in a global id
constexpr std::int64_t kPushPopRange = 59, kStartEndRange = 60;
constexpr std::size_t kMostNames = 2'000'000;
constexpr std::size_t kLongestName = 4096;

// Microseconds, as a profile has them.
std::string micros(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

// "cudaLaunchKernel" of "cudaLaunchKernel_v7000": the number is the version of the interface.
std::string without_version(std::string name) {
  const std::size_t at = name.rfind("_v");
  const bool is_number = at != std::string::npos && at + 2 < name.size() &&
                         name.find_first_not_of("0123456789", at + 2) == std::string::npos;
  return is_number && name.size() - at > 5 ? name.substr(0, at) : name;
}

class Report {
 public:
  Report(const std::string& path, const std::string& run, NsightImport& made)
      : path_(path), run_(run), made_(made), database_(path), profile_(made.left_out) {}

  void read() {
    read_texts();
    read_head();
    read_calls("CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime");
    read_calls("OSRT_API", kWaitCategory);
    read_ranges();
    read_kernels();
    read_transfers("CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy", "memcpy");
    read_transfers("CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset", "memset");
    read_names();
    if (rows_ == 0) return;
    profile_.finish();
    ProfileReading reading;
    reading.head = head_;
    reading.events = rows_;
    reading.problem = made_.problem;
    const ProfileTraces traces = write_profile(profile_, reading, path_, run_, made_.left_out);
    made_.traces = traces.paths;
    made_.note = traces.note;
  }

  bool is_report() const { return database_.has_table("StringIds"); }

 private:
  void keep(const std::string& problem) {
    if (made_.problem.empty()) made_.problem = problem;
  }

  void read_texts() {
    keep(database_.read("StringIds", {"id", "value"}, [this](const DatabaseRow& row) {
      if (texts_.size() >= kMostNames) return made_.left_out.add("names beyond the first 2 000 000");
      texts_[row.whole(0)] = row.text(1).substr(0, kLongestName);
    }));
  }

  void read_head() {
    keep(database_.read("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [this](const DatabaseRow& row) {
      if (row.has(0)) head_.base_time_ns = std::to_string(row.whole(0));
    }));
    keep(database_.read("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [this](const DatabaseRow& row) {
      if (row.text(0) == "Hostname") head_.host = row.text(1);
    }));
  }

  const std::string& text(std::int64_t id) const {
    static const std::string kNone;
    const auto found = texts_.find(id);
    return found == texts_.end() ? kNone : found->second;
  }

  // A call, a range or an activity that began and ended. False: it did not.
  bool begin(const DatabaseRow& row, const char* category, std::int64_t pid, std::int64_t tid) {
    event_.clear();
    ++rows_;
    std::int64_t duration_ns = 0;
    if (!row.has(0) || !row.has(1) || __builtin_sub_overflow(row.whole(1), row.whole(0), &duration_ns) ||
        duration_ns < 0) {
      made_.left_out.add(fmt::format("rows of '{}' without an end", category));
      return false;
    }
    event_[Field::kPhase] = "X";
    event_[Field::kCategory] = category;
    event_[Field::kPid] = std::to_string(pid);
    event_[Field::kTid] = std::to_string(tid);
    event_[Field::kTime] = micros(row.whole(0));
    event_[Field::kDuration] = micros(duration_ns);
    return true;
  }
  static std::int64_t pid_of(std::int64_t global) { return global / kIds % kIds; }
  static std::int64_t tid_of(std::int64_t global) { return global % kIds; }

  // Ids that name a call in its own process alone.
  static std::string correlation_of(std::int64_t pid, std::int64_t id) {
    return id == 0
               ? "0"
               : std::to_string(static_cast<std::uint64_t>(pid) << 32 | (static_cast<std::uint64_t>(id) & UINT32_MAX));
  }

  void read_calls(const char* table, const char* category) {
    const bool is_wait = category == std::string_view(kWaitCategory);
    keep(database_.read(table, {"start", "end", "globalTid", "correlationId", "nameId"}, [&](const DatabaseRow& row) {
      const std::int64_t pid = pid_of(row.whole(2));
      if (!begin(row, category, pid, tid_of(row.whole(2)))) return;
      event_[Field::kName] = is_wait ? text(row.whole(4)) : without_version(text(row.whole(4)));
      event_[Field::kCorrelation] = is_wait ? "0" : correlation_of(pid, row.whole(3));
      profile_.add(event_);
    }));
  }

  void read_ranges() {
    keep(database_.read("NVTX_EVENTS", {"start", "end", "globalTid", "eventType", "text", "textId"},
                        [this](const DatabaseRow& row) {
                          const std::int64_t type = row.whole(3);
                          if (type != kPushPopRange && type != kStartEndRange)
                            return made_.left_out.add("events of NVTX that are no ranges");
                          if (!begin(row, "user_annotation", pid_of(row.whole(2)), tid_of(row.whole(2)))) return;
                          event_[Field::kName] = row.has(4) ? row.text(4).substr(0, kLongestName) : text(row.whole(5));
                          profile_.add(event_);
                        }));
  }

  void set_stream(const DatabaseRow& row, std::size_t device, std::size_t stream, std::int64_t pid,
                  std::int64_t correlation) {
    event_[Field::kDevice] = std::to_string(row.whole(device));
    event_[Field::kStream] = std::to_string(row.whole(stream));
    event_[Field::kCorrelation] = correlation_of(pid, correlation);
  }

  void read_kernels() {
    const std::vector<std::string> columns = {
        "start", "end",   "globalPid", "correlationId", "deviceId", "streamId", "demangledName",      "shortName",
        "gridX", "gridY", "gridZ",     "blockX",        "blockY",   "blockZ",   "dynamicSharedMemory"};
    keep(database_.read("CUPTI_ACTIVITY_KIND_KERNEL", columns, [this](const DatabaseRow& row) {
      const std::int64_t pid = pid_of(row.whole(2));
      if (!begin(row, "kernel", pid, row.whole(5))) return;
      set_stream(row, 4, 5, pid, row.whole(3));
      event_[Field::kName] = text(row.has(6) ? row.whole(6) : row.whole(7));
      event_[Field::kGrid] = fmt::format("{},{},{},", row.whole(8), row.whole(9), row.whole(10));
      event_[Field::kBlock] = fmt::format("{},{},{},", row.whole(11), row.whole(12), row.whole(13));
      event_[Field::kSharedBytes] = std::to_string(row.whole(14));
      profile_.add(event_);
    }));
  }

  void read_transfers(const char* table, const char* category, const char* name) {
    keep(database_.read(table, {"start", "end", "globalPid", "correlationId", "deviceId", "streamId", "bytes"},
                        [&](const DatabaseRow& row) {
                          const std::int64_t pid = pid_of(row.whole(2));
                          if (!begin(row, category, pid, row.whole(5))) return;
                          set_stream(row, 4, 5, pid, row.whole(3));
                          event_[Field::kName] = name;
                          event_[Field::kBytes] = std::to_string(row.whole(6));
                          profile_.add(event_);
                        }));
  }

  void add_name(const char* what, std::int64_t pid, std::int64_t tid, const std::string& name) {
    event_.clear();
    event_[Field::kPhase] = "M";
    event_[Field::kName] = what;
    event_[Field::kPid] = std::to_string(pid);
    event_[Field::kTid] = std::to_string(tid);
    event_[Field::kOwnName] = name;
    profile_.add(event_);
  }

  void read_names() {
    keep(database_.read("ThreadNames", {"nameId", "globalTid"}, [this](const DatabaseRow& row) {
      add_name("thread_name", pid_of(row.whole(1)), tid_of(row.whole(1)), text(row.whole(0)));
    }));
    keep(database_.read("PROCESSES", {"pid", "name"}, [this](const DatabaseRow& row) {
      add_name("process_name", row.whole(0), 0, row.text(1).substr(0, kLongestName));
    }));
  }

  const std::string& path_;
  const std::string& run_;
  NsightImport& made_;
  Database database_;
  Profile profile_;
  ProfileHead head_;
  ProfileEvent event_;
  std::unordered_map<std::int64_t, std::string> texts_;
  std::uint64_t rows_ = 0;
};

}  // namespace

NsightImport import_nsight(const std::string& path, const std::string& run) {
  NsightImport made;
  try {
    Report report(path, run, made);
    if (!report.is_report())
      made.problem =
          "it is no report of Nsight Systems: table StringIds is missing; `nsys export --type sqlite` makes one";
    else
      report.read();
  } catch (const DatabaseError& error) {
    made.problem = fmt::format(
        "it is no database of SQLite that can be read ({}); `nsys export --type sqlite` makes one", error.what());
  }
  if (made.traces.empty() && made.problem.empty()) made.problem = "no call, range or kernel is in it";
  return made;
}

}  // namespace hostprobe::analysis
