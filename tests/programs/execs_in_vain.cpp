// execs_in_vain [killed] REASON…: for each reason an exec that fails, with waits before and behind it, by this thread and by
// others that then end, while, unless `killed`, one more waits all the time. Tells how many waits it made. With `killed` it ends by SIGKILL.
#include <sys/stat.h>

#include <atomic>
#include <vector>

#include "victim.h"

static std::atomic<bool> g_ends{false};
static std::atomic<int> g_waits{0};

static void* waits_on(void*) {
  while (!g_ends) {
    wait_moments(1);
    ++g_waits;
  }
  return nullptr;
}

static void* waits_once(void*) {
  wait_moments(1);
  return nullptr;
}

static void wait_in_threads(int count) {
  for (int i = 0; i < count; ++i) pthread_join(start(waits_once), nullptr);
  g_waits += count;
}

static void make_file(const char* path, mode_t mode, const char* content) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, content, strlen(content)) < 0 || fchmod(fd, mode) != 0) abort();
  close(fd);
}

static void try_exec(const char* reason) {
  char program[] = "program", *arguments[] = {program, nullptr};
  std::vector<char> long_word(1 << 20, 'x');
  long_word.back() = 0;
  char* too_many[] = {program, long_word.data(), nullptr};
  int result = 0;
  errno = 0;
  if (strcmp(reason, "ENOENT") == 0) result = execv("/there/is/no/such/program", arguments);
  if (strcmp(reason, "ENOENT_along_path") == 0) result = execvp("there-is-no-such-program", arguments);
  if (strcmp(reason, "EACCES") == 0) result = execv("no_program", arguments);
  if (strcmp(reason, "EACCES_folder") == 0) result = execv(".", arguments);
  if (strcmp(reason, "E2BIG") == 0) result = execl("/bin/true", program, long_word.data(), static_cast<char*>(nullptr));
  if (strcmp(reason, "E2BIG_along_path") == 0) result = execvp("true", too_many);
  if (strcmp(reason, "ENOEXEC") == 0) result = execv("./no_format", arguments);
  if (strcmp(reason, "EFAULT") == 0) result = execv(reinterpret_cast<const char*>(8), arguments);
  if (strcmp(reason, "EFAULT_arguments") == 0) result = execv("/bin/true", reinterpret_cast<char* const*>(8));
  const int error = errno;
  printf("%s: %d %s\n", reason, result, strerrorname_np(error));
}

int main(int argc, char** argv) {
  const bool is_killed = argc > 1 && strcmp(argv[1], "killed") == 0;
  make_file("no_program", 0600, "nothing to run\n");
  make_file("no_format", 0700, "nothing to run\n");
  // The process that is killed has one thread by then.
  const pthread_t thread = is_killed ? pthread_t{} : start(waits_on);
  for (int i = is_killed ? 2 : 1; i < argc; ++i) {
    wait_in_threads(20);
    wait_moments(3);
    try_exec(argv[i]);
    wait_moments(4);
    g_waits += 7;
    wait_in_threads(20);
  }
  g_ends = true;
  if (!is_killed) pthread_join(thread, nullptr);
  wait_moments(1);
  tell("waits %d", g_waits + 1);
  fflush(stdout);
  if (is_killed) kill(getpid(), SIGKILL);
  return 4;
}
