// program.cpp: see program.h.
#include "program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace hostprobe::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> g_program{0};

// A signal typed at the terminal goes to the whole foreground group, so the program has it already; sending it again
// would be a second Ctrl-C, which many programs take as "stop at once".
void forward(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const pid_t program = g_program.load();
  const bool from_terminal = info->si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT || signal == SIGHUP);
  if (program > 0 && !from_terminal && info->si_pid != program) kill(program, signal);
  errno = error;
}

// Blocks the forwarded signals while no program is there to have them, and keeps the old handling for the child.
class Forwarding {
 public:
  Forwarding() {
    sigemptyset(&set_);
    for (const int signal : kForwarded) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, &old_mask_);
  }
  void restore_in_child() const { sigprocmask(SIG_SETMASK, &old_mask_, nullptr); }
  void begin() {
    struct sigaction action {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < std::size(kForwarded); ++i) {
      sigaction(kForwarded[i], nullptr, &old_actions_[i]);
      // nohup's ignored SIGHUP stays ignored, for us as for the program.
      if (old_actions_[i].sa_handler != SIG_IGN) sigaction(kForwarded[i], &action, nullptr);
    }
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  }
  void end() {
    for (std::size_t i = 0; i < std::size(kForwarded); ++i) sigaction(kForwarded[i], &old_actions_[i], nullptr);
  }

 private:
  sigset_t set_{};
  sigset_t old_mask_{};
  struct sigaction old_actions_[std::size(kForwarded)] = {};
};

[[noreturn]] void become(const std::vector<std::string>& arguments, int error_pipe) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(error_pipe, &error, sizeof(error));
  _exit(kNotFound);
}

int wait_for(pid_t program) {
  int status = 0;
  while (waitpid(program, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "cannot wait for the program");
  }
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

int read_error(int pipe_end) {
  int error = 0;
  ssize_t got;
  do {
    got = ::read(pipe_end, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof(error)) ? error : 0;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& arguments, const std::function<void()>& prepare,
                       const std::function<void(int pid, int start_error)>& started) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  Forwarding forwarding;
  const pid_t program = fork();
  if (program < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (program == 0) {
    forwarding.restore_in_child();
    prepare();
    become(arguments, pipe_ends[1]);
  }
  g_program = program;
  forwarding.begin();
  close(pipe_ends[1]);
  ProgramEnd end;
  end.start_error = read_error(pipe_ends[0]);  // ends when exec closes the other side
  close(pipe_ends[0]);
  started(program, end.start_error);
  end.status = wait_for(program);
  g_program = 0;
  forwarding.end();
  return end;
}

}  // namespace hostprobe::cli
