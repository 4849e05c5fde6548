// A small torchrun: starts this program once per rank, with the variables that torchrun sets, and ends all when one fails.
#pragma once
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

class Launcher {
 public:
  Launcher(int ranks, char** arguments) : ranks_(ranks), arguments_(arguments) {}

  // The exit status of the first rank that failed, 128 + its signal, or 0.
  int run() {
    char meeting[] = "/tmp/train_parallel.XXXXXX";
    if (mkdtemp(meeting) == nullptr) {
      fprintf(stderr, "train_parallel: cannot make %s: %s. The ranks need it to find each other.\n", meeting,
              strerror(errno));
      return 1;
    }
    setenv("TRAIN_PARALLEL_MEETING", meeting, 1);
    setenv("WORLD_SIZE", std::to_string(ranks_).c_str(), 1);
    setenv("LOCAL_WORLD_SIZE", std::to_string(ranks_).c_str(), 1);
    setenv("SIMNODE_GPUS", std::to_string(ranks_).c_str(), 0);  // of the simulated node, when nobody chose a number
    for (int rank = 0; rank < ranks_; ++rank) pids_.push_back(start(rank));
    int status = wait_for_all();
    unlink((std::string(meeting) + "/id").c_str());
    rmdir(meeting);
    return status;
  }

 private:
  pid_t start(int rank) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    setenv("RANK", std::to_string(rank).c_str(), 1);
    setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    execv("/proc/self/exe", arguments_);
    fprintf(stderr, "train_parallel: cannot start rank %d: %s.\n", rank, strerror(errno));
    _exit(1);
  }

  int wait_for_all() {
    int first = 0;
    for (size_t left = pids_.size(); left > 0; --left) {
      int status = 0;
      pid_t pid = wait(&status);
      if (pid < 0) break;
      for (pid_t& known : pids_)
        if (known == pid) known = 0;
      int result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (result == 0 || first != 0) continue;
      first = result;
      for (pid_t other : pids_)
        if (other > 0) kill(other, SIGTERM);
    }
    return first;
  }

  int ranks_;
  char** arguments_;
  std::vector<pid_t> pids_;
};
