// generations [handler]: forty generations, each the child of the one before and each with a few waits. The last one tells
// what it still has mapped of its forebears' shared memory. With `handler` each is forked by a signal handler that came in
// the middle of a wait, which then goes on in the child.
#include <sys/time.h>

#include "victim.h"

static const int kGenerations = 40;
static pid_t g_child = 0;

static long count_mapped(const char* name, long* kilobytes) {
  FILE* maps = fopen("/proc/self/maps", "re");
  long count = 0;
  *kilobytes = 0;
  char line[512];
  while (fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    sscanf(line, "%lx-%lx", &begin, &end);
    *kilobytes += static_cast<long>((end - begin) / 1024);
    if (strstr(line, name) != nullptr) ++count;
  }
  fclose(maps);
  return count;
}

static void fork_now(int) { g_child = fork(); }

static pid_t next_generation(bool in_handler) {
  if (!in_handler) return fork();
  struct itimerval soon_once = {{0, 0}, {0, 2000}};
  signal(SIGALRM, fork_now);
  sem_t never_posted;
  sem_init(&never_posted, 0, 0);
  g_child = -1;
  setitimer(ITIMER_REAL, &soon_once, nullptr);
  while (g_child == -1) {
    const timespec end = soon(CLOCK_REALTIME, 50000000);
    sem_timedwait(&never_posted, &end);
  }
  return g_child;
}

int main(int argc, char** argv) {
  const bool in_handler = argc > 1 && strcmp(argv[1], "handler") == 0;
  long kilobytes = 0;
  for (int generation = 1; generation <= kGenerations; ++generation) {
    wait_moments(3);
    if (generation == 3) {
      count_mapped("SYSV", &kilobytes);
      tell("early %ld", kilobytes);
    }
    const pid_t child = next_generation(in_handler);
    if (child == 0) continue;
    int status = 0;
    waitpid(child, &status, 0);
    if (generation == 1) printf("the last of %d generations ended with status %d\n", kGenerations, status);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  wait_moments(3);
  tell("segments %ld", count_mapped("SYSV", &kilobytes));
  tell("late %ld", kilobytes);
}
