// cli_command.cpp: see cli_command.h.
#include "unit/cli_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

extern char** environ;

namespace hostprobe::test {
namespace {

std::vector<std::string> clean_environment(const std::vector<std::string>& extra) {
  std::vector<std::string> result = extra;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!text.starts_with("HOSTPROBE_") && !text.starts_with("LD_PRELOAD=") && !text.starts_with("RANK="))
      result.push_back(text);
  }
  return result;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

void read_both(int out, int err, Said& said) {
  pollfd ends[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[] = {&said.out, &said.err};
  int open_ends = 2;
  while (open_ends > 0 && poll(ends, 2, -1) > 0) {
    for (int i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t got = read(ends[i].fd, bytes, sizeof(bytes));
      if (got > 0) {
        texts[i]->append(bytes, static_cast<std::size_t>(got));
      } else {
        close(ends[i].fd);
        ends[i].fd = -1;
        --open_ends;
      }
    }
  }
}

}  // namespace

Said hostprobe(const std::vector<std::string>& arguments, const std::vector<std::string>& extra,
               const std::string& folder) {
  std::vector<std::string> command = {HOSTPROBE_TEST_COMMAND};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::vector<std::string> environment = clean_environment(extra);
  const std::vector<char*> argv = pointers(command), envp = pointers(environment);
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(99);
    execve(argv[0], argv.data(), envp.data());
    _exit(99);
  }
  close(out[1]);
  close(err[1]);
  Said said;
  read_both(out[0], err[0], said);
  int status = 0;
  waitpid(child, &status, 0);
  said.status = WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
  return said;
}

}  // namespace hostprobe::test
