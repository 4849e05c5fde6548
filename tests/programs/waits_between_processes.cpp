// waits_between_processes: parent and child hand a process-shared semaphore to and fro.
#include <sys/mman.h>

#include "victim.h"

int main() {
  auto* semaphores =
      static_cast<sem_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  sem_init(&semaphores[0], 1, 0);
  sem_init(&semaphores[1], 1, 0);
  const pid_t child = fork();
  for (int i = 0; i < 200; ++i) {
    if (child == 0) sem_wait(&semaphores[0]);
    sem_post(&semaphores[child == 0]);
    if (child != 0) sem_wait(&semaphores[1]);
  }
  if (child == 0) _exit(3);
  tell("parent %d", static_cast<int>(getpid()));
  tell("child %d", static_cast<int>(child));
  print_end_of("child", child);
}
