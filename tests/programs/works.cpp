// works [WAITS]: an ordinary program for hard circumstances: two threads that wait WAITS times each
// (50 when not said), one that is woken, a little memory. Needs no file and no descriptor of its own.
#include "victim.h"

static int g_waits = 50;
static sem_t g_ping, g_pong;

static void* routine(void*) {
  pthread_setname_np(pthread_self(), "victim-works");
  sem_wait(&g_ping);
  wait_moments(g_waits);
  sem_post(&g_pong);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc > 1) g_waits = atoi(argv[1]);
  sem_init(&g_ping, 0, 0);
  sem_init(&g_pong, 0, 0);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_t thread;
  const int created = pthread_create(&thread, &small, routine, nullptr);
  printf("thread: %d\n", created);
  if (created == 0) sem_post(&g_ping);
  wait_moments(g_waits);
  char* memory = static_cast<char*>(malloc(1 << 20));
  printf("memory: %d\n", memory != nullptr);
  if (memory != nullptr) memset(memory, 1, 1 << 20);
  if (created == 0) {
    sem_wait(&g_pong);
    pthread_join(thread, nullptr);
  }
  free(memory);
  printf("errno of a failing call: %d\n", close(-1) == -1 ? errno : 0);
  return 5;
}
