// thread_locals_KIB: has that much thread-local storage, which glibc takes out of every thread's stack, and a thread whose
// stack is large enough for it.
#include "victim.h"

static thread_local char t_large[KIB * 1024] = {1};

int main() {
  wait_moments(3);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (KIB + 512) * 1024);
  pthread_t thread;
  const auto live = [](void*) -> void* {
    memset(t_large, 2, sizeof t_large);
    wait_moments(4);
    return nullptr;
  };
  const int error = pthread_create(&thread, &attributes, live, nullptr);
  printf("created: %d\n", error);
  if (error == 0) pthread_join(thread, nullptr);
  wait_moments(1);
  return t_large[0];
}
