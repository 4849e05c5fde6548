// keeps_its_segment [threads]: goes to an IPC namespace of its own after its first waits, where segment numbers begin at 0
// again, and makes shared memory there. A child that stays looks whether that memory outlives the program.
#include <sched.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "victim.h"

static void* waits_a_little(void*) {
  wait_moments(3);
  return nullptr;
}

static void await_end_of(int pipe_end) {
  char byte;
  while (read(pipe_end, &byte, 1) > 0) {
  }
}

int main(int argc, char** argv) {
  wait_moments(5);
  if (argc > 1 && strcmp(argv[1], "threads") == 0) pthread_join(start(waits_a_little), nullptr);
  if (unshare(CLONE_NEWIPC) != 0) return 77;
  const int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  tell("segment %d", segment);
  auto* number = static_cast<volatile int*>(shmat(segment, nullptr, 0));
  *number = 4711;
  int ends[2];
  if (segment < 0 || pipe(ends) != 0) return 1;
  fflush(stdout);
  if (fork() != 0) return 0;
  close(ends[1]);
  await_end_of(ends[0]);
  struct shmid_ds about = {};
  const bool there = shmctl(segment, IPC_STAT, &about) == 0 && (about.shm_perm.mode & SHM_DEST) == 0;
  printf("after its maker has ended the segment %s, it holds %d\n", there ? "is there" : "was removed", *number);
}
