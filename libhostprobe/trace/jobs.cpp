// jobs.cpp: see jobs.h. Processes make the jobs (job_groups.h); what others measured joins the job that it was measured of.
#include "jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <tuple>

#include "job_groups.h"
#include "reader.h"
#include "trace_head.h"

namespace hostprobe::analysis {
namespace {

namespace fs = std::filesystem;

struct Heads {
  std::vector<RunFile> processes, imported, kernel;
  std::vector<std::string> unknown;  // heads that cannot be read
};

Heads read_heads(const std::vector<std::string>& paths) {
  Heads heads;
  for (const std::string& path : paths) {
    const std::optional<FileHeader> header = head_of(path);
    if (!header)
      heads.unknown.push_back(path);
    else if (header->source == kFromKernel)
      heads.kernel.push_back({path, *header});
    else
      (header->source == kFromProbe ? heads.processes : heads.imported).push_back({path, *header});
  }
  return heads;
}

bool is_of(const RunFile& profile, const RunFile& process) {
  const std::string host = host_of(profile.header);
  return profile.header.pid == process.header.pid && (host.empty() || host == host_of(process.header)) &&
         time_of(profile.header).overlaps(time_of(process.header));
}

// The job of the process that it is of, else the last that was there at that time.
JobGroup* job_of(std::vector<JobGroup>& jobs, const RunFile& profile) {
  JobGroup* found = nullptr;
  for (JobGroup& job : jobs) {
    if (std::any_of(job.processes.begin(), job.processes.end(),
                    [&](const RunFile& process) { return is_of(profile, process); }))
      return &job;
    const bool is_at_time = time_of(profile.header).known() && job.time.overlaps(time_of(profile.header));
    if (is_at_time && (found == nullptr || found->time.begin_ns <= job.time.begin_ns)) found = &job;
  }
  return found;
}

// What is of none of several jobs is one of its own: somebody keeps his profiles there.
void add_imported(std::vector<JobGroup>& jobs, const std::vector<RunFile>& imported) {
  JobGroup others;
  std::vector<std::pair<JobGroup*, const RunFile*>> own;
  for (const RunFile& file : imported) {
    JobGroup* job = jobs.size() == 1 ? &jobs.front() : job_of(jobs, file);
    if (job != nullptr)
      own.emplace_back(job, &file);
    else
      others.add(file);
  }
  for (const auto& [job, file] : own) job->processes.push_back(*file);
  if (!others.processes.empty()) jobs.push_back(std::move(others));
}

// A recording of the machine tells of every job that ran meanwhile. One whose time is not known, or is nobody's, may be of each.
void add_kernel(std::vector<JobGroup>& jobs, const std::vector<RunFile>& kernel) {
  for (const RunFile& file : kernel) {
    const auto covers = [&file](const JobGroup& job) {
      const std::string host = host_of(file.header);
      return (host.empty() || job.hosts.contains(host)) && time_of(file.header).overlaps(job.time);
    };
    const bool is_of_any = std::any_of(jobs.begin(), jobs.end(), covers);
    for (JobGroup& job : jobs)
      if (!is_of_any || covers(job)) job.processes.push_back(file);
  }
}

Job job_from(JobGroup group) {
  Job job;
  job.begin_realtime_ns = group.time.begin_ns;
  std::sort(group.files.begin(), group.files.end(),
            [](const JobFile& l, const JobFile& r) { return l.begin_realtime_ns < r.begin_realtime_ns; });
  job.files = std::move(group.files);
  job.ids = std::move(group.ids);
  // Without `hostprobe run`: what began first started the others.
  const auto first =
      std::min_element(group.processes.begin(), group.processes.end(), [](const RunFile& l, const RunFile& r) {
        return std::pair(l.header.source, l.header.start.realtime_ns) <
               std::pair(r.header.source, r.header.start.realtime_ns);
      });
  if (!job.files.empty())
    job.command = job.files.front().command;
  else if (first != group.processes.end())
    job.command = std::string(first->header.command, strnlen(first->header.command, sizeof first->header.command));
  for (const RunFile& process : group.processes) job.traces.push_back(process.path);
  std::sort(job.traces.begin(), job.traces.end());
  return job;
}

// A launch that recorded nothing is worth a word as long as it is the last.
void drop_empty(std::vector<Job>& jobs) {
  for (std::size_t i = jobs.size(); i-- > 0;)
    if (jobs[i].traces.empty() && i + 1 < jobs.size()) jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
}

// Damage is never passed over: it stands in the newest job, where it is seen.
void add_unknown(std::vector<Job>& jobs, const std::vector<std::string>& unknown) {
  for (const std::string& path : unknown) jobs.back().traces.push_back(path);
  if (!unknown.empty()) std::sort(jobs.back().traces.begin(), jobs.back().traces.end());
}

bool is_run_folder(const fs::path& folder) {
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder, gone))
    if (is_run_file(entry.path().string())) return true;
  return false;
}

// A run in a folder of runs, and its newest job.
struct FoundRun {
  std::string path;
  std::uint64_t begin_ns;
  std::set<std::string> ids;
};

// A program that is preloaded and told of no folder makes one of its own for each job, in one that they share.
std::vector<FoundRun> runs_in(const std::string& folder) {
  std::vector<FoundRun> runs;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder, gone)) {
    std::error_code unreadable;
    if (!entry.is_directory(unreadable) || !is_run_folder(entry.path())) continue;
    const Job newest = jobs_of(entry.path().string()).back();
    runs.push_back({entry.path().string(), newest.begin_realtime_ns, newest.ids});
  }
  std::sort(runs.begin(), runs.end(), [](const FoundRun& l, const FoundRun& r) {
    return std::tie(l.begin_ns, l.path) < std::tie(r.begin_ns, r.path);
  });
  return runs;
}

bool is_of_ids(const FoundRun& run, const std::set<std::string>& ids) {
  return std::any_of(run.ids.begin(), run.ids.end(), [&ids](const std::string& id) { return ids.contains(id); });
}

// The newest, and what other hosts wrote of the same job into folders of their own.
std::vector<std::string> newest_runs_in(const std::string& folder) {
  const std::vector<FoundRun> runs = runs_in(folder);
  std::vector<std::string> paths;
  for (const FoundRun& run : runs)
    if (&run == &runs.back() || is_of_ids(run, runs.back().ids)) paths.push_back(run.path);
  if (paths.size() < 2) return paths;
  // One id alone does not make them one job: it may have been started again.
  const std::vector<std::string> traces = jobs_of_folders(paths).back().traces;
  std::erase_if(paths, [&traces](const std::string& path) {
    return std::none_of(traces.begin(), traces.end(),
                        [&path](const std::string& trace) { return fs::path(trace).parent_path() == fs::path(path); });
  });
  return paths;
}

}  // namespace

bool is_run_file(const std::string& path) {
  return fs::path(path).extension() == kFileSuffix || path.ends_with(kJobFileSuffix);
}

std::vector<Job> jobs_of(const std::string& run) { return jobs_of_folders({run}); }

std::vector<Job> jobs_of_folders(const std::vector<std::string>& runs) {
  std::vector<std::string> paths;
  std::vector<JobFile> files;
  for (const std::string& run : runs) {
    for (std::string& path : trace_paths(run)) paths.push_back(std::move(path));
    for (JobFile& file : job_files(run)) files.push_back(std::move(file));
  }
  const Heads heads = read_heads(paths);
  std::erase_if(files, [](const JobFile& file) { return !file.started; });
  std::vector<JobGroup> groups = group_processes(heads.processes, files);
  add_imported(groups, heads.imported);
  if (groups.empty()) groups.emplace_back();
  add_kernel(groups, heads.kernel);
  std::vector<Job> jobs;
  for (JobGroup& group : groups) jobs.push_back(job_from(std::move(group)));
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& l, const Job& r) {
    return std::pair(l.begin_realtime_ns, l.traces) < std::pair(r.begin_realtime_ns, r.traces);
  });
  drop_empty(jobs);
  add_unknown(jobs, heads.unknown);
  return jobs;
}

ChosenJob::ChosenJob(const std::string& given, std::optional<unsigned> wanted) : path(given), folders{given} {
  std::error_code error;
  if (fs::is_directory(given, error) && !is_run_folder(given))
    if (auto newest = newest_runs_in(given); !newest.empty()) {
      folders = std::move(newest);
      is_newest_folder = folders.size() == 1;
      if (is_newest_folder) path = folders.front();
    }
  std::vector<Job> jobs = jobs_of_folders(folders);
  if (wanted && (*wanted < 1 || *wanted > jobs.size()))
    throw std::invalid_argument(jobs.size() == 1
                                    ? fmt::format("{} has one job, and no job {}", path, *wanted)
                                    : fmt::format("{} has jobs 1 to {}, and no job {}", path, jobs.size(), *wanted));
  number = wanted.value_or(jobs.size());
  for (const Job& job : jobs) all.push_back({job.begin_realtime_ns, job.command, job.traces.size()});
  traces = std::move(jobs[number - 1].traces);
  files = std::move(jobs[number - 1].files);
}

void ChosenJob::keep_host(const std::string& host) {
  const std::vector<RunFile> heads = run_files(traces);
  const auto is_of = [&host](const RunFile& file) { return host_of(file.header) == host; };
  if (std::none_of(heads.begin(), heads.end(), is_of))
    throw std::invalid_argument(fmt::format("{} has no trace of host {}", words(), host));
  std::set<std::string> others;
  for (const RunFile& file : heads)
    if (!host_of(file.header).empty() && !is_of(file)) others.insert(file.path);
  std::erase_if(traces, [&others](const std::string& trace) { return others.contains(trace); });
}

void ChosenJob::keep_ranks(const std::vector<std::pair<int, int>>& spans) {
  std::set<std::string> kept;
  bool has_rank = false;
  for (const RunFile& file : run_files(traces)) {
    const bool is_asked = std::any_of(spans.begin(), spans.end(), [&file](const std::pair<int, int>& span) {
      return file.header.rank >= span.first && file.header.rank <= span.second;
    });
    if (is_asked || file.header.source == kFromKernel) kept.insert(file.path);
    has_rank = has_rank || is_asked;
  }
  if (!has_rank) throw std::invalid_argument(fmt::format("{} has no trace of these ranks", words()));
  std::erase_if(traces, [&kept](const std::string& trace) { return !kept.contains(trace); });
}

std::string ChosenJob::words() const { return has_others() ? fmt::format("job {} of {}", number, path) : path; }

}  // namespace hostprobe::analysis
