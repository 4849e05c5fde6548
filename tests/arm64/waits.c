/* waits.c: what the recording of another architecture has to get right: a wait and its wake, an ended thread, a vfork, and
   look-ups that depend on who asks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t g_ready, g_done;

static void* work(void* nothing) {
  for (int i = 0; i < 5; ++i) {
    sem_wait(&g_ready);
    usleep(3000);
    sem_post(&g_done);
  }
  return nothing;
}

/* Two frames that stacks have to show; what follows the call keeps each from being a jump. */
static int g_rounds;
__attribute__((noinline)) static void inner(void) {
  sem_wait(&g_done);
  ++g_rounds;
}
__attribute__((noinline)) static void outer(void) {
  char room[200];
  __asm__ volatile("" : : "r"(room) : "memory");
  inner();
  __asm__ volatile("" : : "r"(room) : "memory");
}

int main(void) {
  pthread_t thread;
  sem_init(&g_ready, 0, 0);
  sem_init(&g_done, 0, 0);
  pthread_create(&thread, NULL, work, NULL);
  for (int i = 0; i < 5; ++i) {
    sem_post(&g_ready);
    outer();
  }
  pthread_join(thread, NULL);

  errno = ERANGE;
  pid_t child = vfork();
  if (child == 0) _exit(7);
  int status = 0;
  waitpid(child, &status, 0);
  printf("child %d, errno %s\n", WEXITSTATUS(status), errno == ERANGE ? "kept" : "changed");

  /* The next one after this program's, so libc's or a wrapper of it; not this program's own lookup. */
  int (*next)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "puts");
  if (next != NULL) next("looked up");
  printf("absent %d\n", dlsym(RTLD_DEFAULT, "no_such_function_at_all") == NULL);
  return 5;
}
