// recording.cpp: see recording.h.
#include "recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "recorder_process.h"
#include "tracefs.h"

namespace hostprobe::kernel {
namespace {

void close_end(int& end) {
  if (end >= 0) close(end);
  end = -1;
}

// Written to without a SIGPIPE where the other side is gone: the first end reads, the second writes.
void make_pair(int (&ends)[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a pair of sockets");
}

void make_pipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
}

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
volatile sig_atomic_t g_stop = 0;
void note_stop(int) { g_stop = 1; }

bool all_read(int pipe, void* bytes, std::size_t count) {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = read(pipe, at, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

int wait_for_end(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// What needs tracefs needs a mount namespace perhaps, and that is not for this process, whose child is the program.
void sweep_in_other_process() {
  const pid_t child = fork();
  if (child == 0) {
    if (reach_tracefs().empty()) sweep_instances();
    _exit(0);
  }
  if (child > 0) wait_for_end(child);
}

}  // namespace

Recording::Recording(SchedOptions options) : options_(std::move(options)) {}

Recording::~Recording() {
  for (auto* ends : {&to_recorder_, &from_recorder_, &program_pid_, &go_})
    for (int& end : *ends) close_end(end);
  if (recorder_ > 0) wait_for_end(recorder_);
}

void Recording::start() {
  for (auto* ends : {&to_recorder_, &program_pid_}) make_pair(*ends);
  for (auto* ends : {&from_recorder_, &go_}) make_pipe(*ends);
  recorder_ = fork();
  if (recorder_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (recorder_ == 0) be_the_recorder();
  close_end(to_recorder_[0]);
  close_end(from_recorder_[1]);
  close_end(program_pid_[0]);
  close_end(go_[1]);
  while (!ready_ && hear()) {
  }
  if (ready_) return;
  const RecordingEnd end = stop(0);
  throw std::runtime_error(end.problem.empty() ? "the recorder ended before it began" : end.problem);
}

void Recording::be_the_recorder() {
  close_end(to_recorder_[1]);
  close_end(from_recorder_[0]);
  close_end(program_pid_[1]);
  close_end(go_[0]);
  // The terminal's signals are for the program and for us, who stop it when it is time.
  for (const int signal : kStopSignals) ::signal(signal, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  run_recorder(options_, {to_recorder_[0], from_recorder_[1], program_pid_[0], go_[1]});
  _exit(0);
}

bool Recording::hold() {
  const int pid = getpid();
  if (send(program_pid_[1], &pid, sizeof(pid), MSG_NOSIGNAL) != sizeof(pid)) return false;
  close_end(program_pid_[1]);
  close_end(to_recorder_[1]);
  char go = 0;
  return all_read(go_[0], &go, 1);
}

void Recording::let_go() {
  close_end(program_pid_[1]);
  close_end(go_[0]);
}

// A line of the recorder's: "ready", "file UNFINISHED\tFINAL", "note TEXT", "problem TEXT", "done ROWS LOST COST PATH".
bool Recording::hear() {
  for (std::size_t end = heard_.find('\n'); end == std::string::npos; end = heard_.find('\n')) {
    char buffer[4096];
    const ssize_t got = read(from_recorder_[0], buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    heard_.append(buffer, static_cast<std::size_t>(got));
  }
  const std::size_t end = heard_.find('\n');
  const std::string line = heard_.substr(0, end);
  heard_.erase(0, end + 1);
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string word = line.substr(0, blank), text = blank < line.size() ? line.substr(blank + 1) : "";
  if (word == "ready") ready_ = true;
  if (word == "note") end_.notes.push_back(text);
  if (word == "problem") end_.problem = text;
  if (word == "file") {
    unfinished_ = text.substr(0, text.find('\t'));
    final_ = text.substr(std::min(text.find('\t'), text.size() - 1) + 1);
  }
  if (word == "done") {
    done_ = true;
    char* rest = nullptr;
    end_.rows = std::strtoull(text.c_str(), &rest, 10);
    end_.lost = std::strtoull(rest, &rest, 10);
    end_.cost_ns = std::strtoull(rest, &rest, 10);
    end_.path = rest + (*rest == ' ' ? 1 : 0);
  }
  return true;
}

void Recording::wait() {
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int signal : kStopSignals) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);  // but while we wait: none can come just before
  struct sigaction action {
  }, old[std::size(kStopSignals)];
  action.sa_handler = note_stop;
  for (std::size_t i = 0; i < std::size(kStopSignals); ++i) sigaction(kStopSignals[i], &action, &old[i]);
  for (bool open = true; open && g_stop == 0 && !done_;) {
    pollfd news{from_recorder_[0], POLLIN, 0};
    if (heard_.find('\n') != std::string::npos || ppoll(&news, 1, nullptr, &before) > 0) open = hear();
  }
  for (std::size_t i = 0; i < std::size(kStopSignals); ++i) sigaction(kStopSignals[i], &old[i], nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

RecordingEnd Recording::stop(std::uint64_t switches) {
  let_go();
  // It may have ended by itself.
  if (to_recorder_[1] >= 0) send(to_recorder_[1], &switches, sizeof(switches), MSG_NOSIGNAL);
  close_end(to_recorder_[1]);
  g_stop = 0;
  while (hear()) {
  }
  const int status = wait_for_end(recorder_);
  if (WIFSIGNALED(status)) {
    end_.problem = fmt::format("the recorder was ended by signal {}", WTERMSIG(status));
    clean_up_after_kill();
  }
  recorder_ = 0;
  return end_;
}

void Recording::clean_up_after_kill() {
  sweep_in_other_process();
  if (done_ || unfinished_.empty()) return;
  if (link(unfinished_.c_str(), final_.c_str()) == 0) end_.path = final_;
  unlink(unfinished_.c_str());
}

}  // namespace hostprobe::kernel
