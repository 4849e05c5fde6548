// job_groups.cpp: see job_groups.h. First what certainly belongs together, process by process; then the groups of that.
#include "job_groups.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "liveness.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
// The last sign of a process that was killed may be so old. Only where ids of processes agree as well.
constexpr std::uint64_t kStaleNs = 10 * kSecondNs;

template <typename Set>
bool have_common(const Set& l, const Set& r) {
  return std::any_of(l.begin(), l.end(), [&r](const auto& one) { return r.contains(one); });
}

std::set<int> ranks_of(const JobGroup& group) {
  std::set<int> ranks;
  for (const auto& [rank, incarnation] : group.ranks) ranks.insert(rank);
  return ranks;
}

bool have_same_id(const JobGroup& l, const JobGroup& r) { return have_common(l.ids, r.ids); }

// A rank may be there again as another incarnation, on another host.
bool complete_by_id(const JobGroup& l, const JobGroup& r) {
  return have_same_id(l, r) && !l.ranks.empty() && !r.ranks.empty() && !have_common(l.ranks, r.ranks);
}

// Ranks of one size of job, or of one id, that complete each other: a launcher made both.
bool complete(const JobGroup& l, const JobGroup& r) {
  if (complete_by_id(l, r)) return true;
  const std::set<int> of_l = ranks_of(l), of_r = ranks_of(r);
  return !of_l.empty() && !of_r.empty() && !have_common(of_l, of_r) && l.worlds == r.worlds && l.worlds.size() == 1 &&
         *l.worlds.begin() > 1;
}

// A single rank that is there twice may be a program that it started itself, by way of one that does not record.
bool contradict(const JobGroup& l, const JobGroup& r) {
  if (!l.ids.empty() && !r.ids.empty() && !have_same_id(l, r)) return true;
  if (l.ranks.size() > 1 && r.ranks.size() > 1 && have_common(l.ranks, r.ranks)) return true;
  const bool of_two_files = !l.files.empty() && !r.files.empty() && !l.processes.empty() && !r.processes.empty();
  return of_two_files && !complete(l, r);
}

// Hosts of the simulated node, HOST-simN, are one machine, whose processes start each other.
std::string machine_of(const FileHeader& header) {
  const std::string host = host_of(header);
  const auto end = host.rfind("-sim");
  const bool simulated = end != std::string::npos && end + 4 < host.size() &&
                         host.find_first_not_of("0123456789", end + 4) == std::string::npos;
  return simulated ? host.substr(0, end) : host;
}

std::uint64_t begin_of(const FileHeader& header) {
  return header.start.realtime_ns != 0 ? header.start.realtime_ns : header.first.realtime_ns;
}

// Processes as the nodes of a graph, each part of which is a group.
class Ties {
 public:
  Ties(std::vector<RunFile> processes, const std::vector<JobFile>& files)
      : processes_(std::move(processes)), files_(files), parent_(processes_.size()), file_(processes_.size()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    // Behind each other as they began, so that of several with one id the latest is found from the back.
    std::sort(processes_.begin(), processes_.end(), [](const RunFile& l, const RunFile& r) {
      return std::tuple(begin_of(l.header), l.path) < std::tuple(begin_of(r.header), r.path);
    });
    for (const RunFile& process : processes_) times_.push_back(time_of(process.header));
  }

  std::vector<JobGroup> groups() {
    tie_by_files();
    tie_families();
    tie_siblings();
    return take_groups();
  }

 private:
  using Id = std::tuple<std::string, std::string, std::uint32_t>;  // machine, boot, process

  Id id_of(std::size_t i, std::uint32_t pid) const {
    const FileHeader& header = processes_[i].header;
    return {machine_of(header), boot_of(header), pid};
  }

  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  void tie(std::size_t l, std::size_t r) {
    l = root(l), r = root(r);
    if (l == r || (file_[l] && file_[r] && *file_[l] != *file_[r])) return;
    if (!file_[l]) file_[l] = file_[r];
    parent_[r] = l;
  }

  // It is the program that `hostprobe run` started, or a child of that, which need not record itself. Ids of processes are used
  // again: of several files the last one before.
  std::optional<std::size_t> file_of(std::size_t i) const {
    const FileHeader& header = processes_[i].header;
    std::optional<std::size_t> best;
    for (std::size_t f = 0; f < files_.size(); ++f) {
      const JobFile& file = files_[f];
      if (file.host != machine_of(header) || (file.pid != header.pid && file.pid != header.parent_pid)) continue;
      // Its program is started before it is written.
      const JobTime time{file.begin_realtime_ns - std::min(file.begin_realtime_ns, kSecondNs), file.end_realtime_ns};
      if (time.overlaps(times_[i]) && (!best || files_[*best].begin_realtime_ns < file.begin_realtime_ns)) best = f;
    }
    return best;
  }

  void tie_by_files() {
    std::map<std::size_t, std::size_t> first;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      file_[i] = file_of(i);
      if (file_[i]) tie(first.try_emplace(*file_[i], i).first->second, i);
    }
  }

  bool lived_at(std::size_t i, std::uint64_t moment_ns) const {
    const JobTime& time = times_[i];
    return !time.known() || moment_ns == 0 ||
           (time.begin_ns <= moment_ns + kSecondNs && moment_ns <= time.end_ns + kStaleNs);
  }

  void tie_families() {
    std::map<Id, std::vector<std::size_t>> by_id;
    const auto tie_last = [&](const Id& id, std::size_t i) {
      const auto found = by_id.find(id);
      if (found == by_id.end()) return;
      const auto last = std::find_if(found->second.rbegin(), found->second.rend(), [&](std::size_t other) {
        return other != i && lived_at(other, times_[i].begin_ns);
      });
      if (last != found->second.rend()) tie(*last, i);
    };
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      tie_last(id_of(i, processes_[i].header.pid), i);  // it was another program before
      by_id[id_of(i, processes_[i].header.pid)].push_back(i);
    }
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const FileHeader& header = processes_[i].header;
      for (const std::uint32_t pid : {header.parent_pid, header.forked_from})
        if (pid != 0) tie_last(id_of(i, pid), i);
    }
  }

  struct Launch {
    std::size_t first;
    JobTime time;
    std::uint64_t incarnation;
    std::set<std::pair<int, std::uint64_t>> ranks;
  };

  // Ranks that one process started, which need not record itself: at a time, or again.
  void tie_siblings() {
    std::map<std::pair<Id, std::string>, Launch> launches;  // of each job's id apart
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const FileHeader& header = processes_[i].header;
      if (header.rank < 0 || header.parent_pid == 0) continue;
      const std::pair id(id_of(i, header.parent_pid), job_id_of(header));
      const std::pair<int, std::uint64_t> rank(header.rank, header.incarnation);
      const auto [known, is_new] = launches.try_emplace(id, Launch{i, times_[i], header.incarnation, {rank}});
      Launch& launch = known->second;
      if (is_new) continue;
      const JobTime until{launch.time.begin_ns, launch.time.end_ns + kStaleNs};
      const bool together = until.overlaps(times_[i]) && !launch.ranks.contains(rank);
      if (!together && header.incarnation <= launch.incarnation) {
        launch = {i, times_[i], header.incarnation, {rank}};
        continue;
      }
      launch.time.add(times_[i]);
      launch.incarnation = std::max(launch.incarnation, header.incarnation);
      launch.ranks.insert(rank);
      tie(launch.first, i);
    }
  }

  std::vector<JobGroup> take_groups() {
    std::map<std::size_t, JobGroup> groups;
    std::set<std::size_t> taken;
    for (std::size_t i = 0; i < processes_.size(); ++i) groups[root(i)].add(processes_[i]);
    std::vector<JobGroup> all;
    const auto add_file = [](JobGroup& group, const JobFile& file) {
      group.files.push_back(file);
      group.time.add({file.begin_realtime_ns, file.end_realtime_ns});
      group.hosts.insert(file.host);
    };
    for (auto& [i, group] : groups) {
      if (file_[i] && taken.insert(*file_[i]).second) add_file(group, files_[*file_[i]]);
      all.push_back(std::move(group));
    }
    for (std::size_t f = 0; f < files_.size(); ++f)
      if (!taken.contains(f)) add_file(all.emplace_back(), files_[f]);
    return all;
  }

  std::vector<RunFile> processes_;
  const std::vector<JobFile>& files_;
  std::vector<JobTime> times_;
  std::vector<std::size_t> parent_;
  std::vector<std::optional<std::size_t>> file_;  // of the roots
};

// Those of job files first, those that recorded nothing last of these; then the others, each by time.
bool joins_before(const JobGroup& l, const JobGroup& r) {
  const auto order = [](const JobGroup& group) {
    return std::tuple(group.files.empty(), group.processes.empty(), group.time.begin_ns);
  };
  return order(l) < order(r);
}

// The one that began last before it, of those that it may belong to.
JobGroup* job_for(std::vector<JobGroup>& jobs, const JobGroup& group) {
  JobGroup* best = nullptr;
  for (JobGroup& job : jobs) {
    if (!job.time.overlaps(group.time) || contradict(job, group)) continue;
    const bool before = job.time.begin_ns <= group.time.begin_ns;
    if (best == nullptr || (before && job.time.begin_ns >= best->time.begin_ns)) best = &job;
  }
  return best;
}

// Clocks of hosts may be wrong by more than a job lasts. Ranks that complete each other are believed where no others do, or where an id
// says the same.
void join_hosts(std::vector<JobGroup>& jobs) {
  const auto is_other_part = [](const JobGroup& l, const JobGroup& r) {
    return !have_common(l.hosts, r.hosts) && !contradict(l, r) && complete(l, r);
  };
  const auto count_on = [&](const JobGroup& of, const std::set<std::string>& hosts) {
    return std::count_if(jobs.begin(), jobs.end(),
                         [&](const JobGroup& one) { return have_common(one.hosts, hosts) && is_other_part(one, of); });
  };
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (std::size_t j = i + 1; j < jobs.size();) {
      const bool is_only = count_on(jobs[i], jobs[j].hosts) == 1 && count_on(jobs[j], jobs[i].hosts) == 1;
      const bool is_meant = is_other_part(jobs[i], jobs[j]) && (is_only || complete_by_id(jobs[i], jobs[j]));
      if (!is_meant) {
        ++j;
        continue;
      }
      jobs[i].add(std::move(jobs[j]));
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(j));
      j = i + 1;
    }
}

}  // namespace

void JobTime::add(const JobTime& other) {
  if (!other.known()) return;
  begin_ns = known() ? std::min(begin_ns, other.begin_ns) : other.begin_ns;
  end_ns = std::max(end_ns, other.end_ns);
}

JobTime time_of(const FileHeader& header) {
  JobTime time;
  time.begin_ns = begin_of(header);
  time.end_ns = std::max({time.begin_ns, header.first.realtime_ns, header.last.realtime_ns});
  if (header.state == kFileOpen && header.source == kFromProbe && process_liveness(header) == Liveness::kLives) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    time.end_ns = std::max(time.end_ns, static_cast<std::uint64_t>(now.tv_sec) * kSecondNs);
  }
  return time;
}

void JobGroup::add(const RunFile& process) {
  const FileHeader& header = process.header;
  time.add(time_of(header));
  processes.push_back(process);
  if (const std::string host = host_of(header); !host.empty()) hosts.insert(host);
  if (header.rank >= 0) ranks.emplace(header.rank, header.incarnation);
  if (header.rank >= 0 && header.world_size > 0) worlds.insert(header.world_size);
  if (std::string id = job_id_of(header); !id.empty()) ids.insert(std::move(id));
}

void JobGroup::add(JobGroup&& other) {
  time.add(other.time);
  processes.insert(processes.end(), other.processes.begin(), other.processes.end());
  files.insert(files.end(), other.files.begin(), other.files.end());
  hosts.merge(other.hosts);
  ranks.merge(other.ranks);
  worlds.merge(other.worlds);
  ids.merge(other.ids);
}

std::vector<JobGroup> group_processes(std::vector<RunFile> processes, const std::vector<JobFile>& files) {
  std::vector<JobGroup> groups = Ties(std::move(processes), files).groups();
  std::stable_sort(groups.begin(), groups.end(), joins_before);
  std::vector<JobGroup> jobs;
  for (JobGroup& group : groups) {
    if (JobGroup* job = job_for(jobs, group))
      job->add(std::move(group));
    else
      jobs.push_back(std::move(group));
  }
  join_hosts(jobs);
  return jobs;
}

}  // namespace hostprobe::analysis
