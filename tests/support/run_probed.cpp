#include "run_probed.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace hostprobe::test {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

bool is_ours(const std::string& entry) {
  return entry.starts_with("HOSTPROBE_") || entry.starts_with("SIMNODE_") || entry.starts_with("LD_PRELOAD=") ||
         entry.starts_with("VICTIM_") || entry.starts_with("GTEST_");
}

std::vector<std::string> environment_block(const Environment& extra) {
  std::vector<std::string> block;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!is_ours(text) && !extra.contains(text.substr(0, text.find('=')))) block.push_back(text);
  }
  for (const auto& [name, value] : extra) block.push_back(name + "=" + value);
  return block;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  int ends[2];
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  }
  ~Pipe() {
    for (int end : ends)
      if (end >= 0) close(end);
  }
  void close_end(int which) {
    close(ends[which]);
    ends[which] = -1;
  }
};

[[noreturn]] void become(const Launch& launch, char** argv, char** envp, int out, int err) {
  if (!launch.folder.empty() && chdir(launch.folder.c_str()) != 0) _exit(125);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(out, 1);
  dup2(err, 2);
  // Nothing else is inherited, whatever the test itself was started with: victims count on descriptor numbers.
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  signal(SIGPIPE, SIG_DFL);
  if (launch.before_exec) launch.before_exec();
  execvpe(argv[0], argv, envp);
  _exit(127);
}

// Appends what there is to read; false at end of file.
bool drain(int fd, std::string& text) {
  char buffer[65536];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

void end_it(Outcome& outcome) {
  outcome.over_time = true;
  kill(outcome.pid, SIGKILL);
}

void collect(Outcome& outcome, Pipe& out, Pipe& err, Clock::time_point end) {
  pollfd waiting[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
  std::string* texts[2] = {&outcome.out, &outcome.err};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || poll(waiting, 2, static_cast<int>(left)) == 0) return end_it(outcome);
    for (int i = 0; i < 2; ++i)
      if (waiting[i].fd >= 0 && waiting[i].revents != 0 && !drain(waiting[i].fd, *texts[i])) waiting[i].fd = -1;
  }
}

// The output may end before the process does: with its last thread but one, say.
void await_end(Outcome& outcome, Clock::time_point end) {
  for (;;) {
    const pid_t ended = waitpid(outcome.pid, &outcome.status, outcome.over_time ? 0 : WNOHANG);
    if (ended == outcome.pid) return;
    if (ended < 0 && errno != EINTR) throw std::runtime_error("waitpid failed");
    if (Clock::now() > end && !outcome.over_time) end_it(outcome);
    usleep(500);
  }
}

std::vector<pid_t> pids_in(const fs::path& run) {
  std::vector<pid_t> pids;
  for (const fs::path& file : trace_files(run)) {
    const std::string name = file.stem();
    const std::size_t last = name.rfind('-');
    const std::size_t before = last == std::string::npos ? last : name.rfind('-', last - 1);
    if (before != std::string::npos) pids.push_back(std::atoi(name.c_str() + before + 1));
  }
  return pids;
}

OneRun run_victim(const Victim& victim, const fs::path& folder, const Environment& probe) {
  fs::create_directories(folder);
  Launch launch;
  launch.command = victim.args;
  launch.command.insert(launch.command.begin(), program_path(victim.program));
  launch.environment = victim.environment;
  launch.environment["VICTIM_TRUTH"] = folder / "truth";
  for (const auto& [name, value] : probe) launch.environment[name] = value;
  launch.folder = folder;
  launch.before_exec = victim.before_exec;
  launch.while_running = victim.while_running;
  launch.limit = victim.limit;
  return OneRun{run(launch), folder};
}

}  // namespace

bool Outcome::exited_with(int code) const { return !over_time && WIFEXITED(status) && WEXITSTATUS(status) == code; }
bool Outcome::ended_by(int signal) const { return !over_time && WIFSIGNALED(status) && WTERMSIG(status) == signal; }

std::string Outcome::describe() const {
  std::ostringstream text;
  if (over_time) text << "ran over its time, ";
  if (WIFEXITED(status)) text << "exit status " << WEXITSTATUS(status);
  if (WIFSIGNALED(status)) text << "signal " << WTERMSIG(status);
  text << "\nstdout: " << out << "\nstderr: " << err;
  return text.str();
}

Outcome run(const Launch& launch) {
  std::vector<std::string> command = launch.command;
  std::vector<std::string> block = environment_block(launch.environment);
  std::vector<char*> argv = pointers(command);
  std::vector<char*> envp = pointers(block);
  Pipe out, err;
  Outcome outcome;
  outcome.pid = fork();
  if (outcome.pid < 0) throw std::runtime_error("fork failed");
  if (outcome.pid == 0) become(launch, argv.data(), envp.data(), out.ends[1], err.ends[1]);
  out.close_end(1);
  err.close_end(1);
  if (launch.while_running) launch.while_running(outcome.pid);
  const auto end = Clock::now() + launch.limit;
  collect(outcome, out, err, end);
  await_end(outcome, end);
  return outcome;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = fs::temp_directory_path() / "hostprobe-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  remove_segments_of(pids_in(run()));
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path built(const std::string& path) { return fs::path(HOSTPROBE_TEST_BUILD) / path; }
fs::path program_path(const std::string& program) {
  return program.find('/') == std::string::npos ? built("tests/programs") / program : fs::path(program);
}
std::string program_library(const std::string& name) { return built("tests/programs/lib" + name + ".so").string(); }
fs::path probe_library() { return built("lib/libhostprobe.so"); }
fs::path probe_command() { return built("bin/hostprobe"); }
fs::path simnode_folder() { return built("lib/hostprobe/simnode"); }

std::vector<std::vector<std::string>> OneRun::truth() const {
  std::vector<std::vector<std::string>> lines;
  std::ifstream file(folder / "truth");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return lines;
}

std::vector<std::string> OneRun::told(const std::string& key) const {
  for (const auto& line : truth())
    if (!line.empty() && line[0] == key) return {line.begin() + 1, line.end()};
  throw std::runtime_error("the victim told nothing about " + key + "; " + outcome.describe());
}

long long OneRun::number(const std::string& key) const { return std::stoll(told(key).at(0), nullptr, 0); }

OneRun run_bare(const Victim& victim, const ScratchFolder& scratch) {
  return run_victim(victim, scratch.path() / "bare", {});
}

OneRun run_probed(const Victim& victim, const ScratchFolder& scratch) {
  Environment probe = {{"LD_PRELOAD", probe_library()},
                       {"HOSTPROBE_OUT", scratch.run()},
                       {"HOSTPROBE_TARGET", "all"},
                       {"HOSTPROBE_WAIT_US", "0"}};
  for (const auto& [name, value] : victim.probe) probe[name] = value;
  return run_victim(victim, scratch.path() / "probed", probe);
}

Pair::Pair(const Victim& victim) : bare(run_bare(victim, scratch)), probed(run_probed(victim, scratch)) {}
Pair::~Pair() { remove_segments_of({probed.outcome.pid}); }

std::vector<std::string> probe_messages(const std::string& err) {
  std::vector<std::string> messages;
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("hostprobe[")) messages.push_back(line);
  return messages;
}

void expect_same(const OneRun& bare, const OneRun& probed, int messages) {
  std::string others;
  std::istringstream lines(probed.outcome.err);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("hostprobe[")) others += line + "\n";
  const auto said = probe_messages(probed.outcome.err);
  EXPECT_FALSE(bare.outcome.over_time) << bare.outcome.describe();
  EXPECT_FALSE(probed.outcome.over_time) << probed.outcome.describe();
  EXPECT_EQ(bare.outcome.status, probed.outcome.status)
      << "without: " << bare.outcome.describe() << "\nwith: " << probed.outcome.describe();
  EXPECT_EQ(bare.outcome.out, probed.outcome.out);
  EXPECT_EQ(bare.outcome.err, others);
  EXPECT_LE(static_cast<int>(said.size()), messages) << probed.outcome.err;
}

std::vector<fs::path> trace_files(const fs::path& run) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(run, missing))
    if (entry.path().extension() == ".hptrace") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<int> orphaned_segments(const std::vector<pid_t>& pids) {
  std::vector<int> ids;
  std::ifstream table("/proc/sysvipc/shm");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    // key shmid perms size cpid lpid nattch …
    long long key = 0, id = 0, size = 0, creator = 0, last = 0, attached = 0;
    std::string permissions;
    std::istringstream words(line);
    words >> key >> id >> permissions >> size >> creator >> last >> attached;
    if (attached == 0 && std::find(pids.begin(), pids.end(), static_cast<pid_t>(creator)) != pids.end())
      ids.push_back(static_cast<int>(id));
  }
  return ids;
}

void remove_segments_of(const std::vector<pid_t>& pids) {
  for (const int id : orphaned_segments(pids)) shmctl(id, IPC_RMID, nullptr);
}

void have_our_own_segments() {
  static const bool ours = unshare(CLONE_NEWIPC) == 0;
  (void)ours;
}

}  // namespace hostprobe::test
