// looks_for_newer_names: whether functions that younger versions of libc have are there, by weak reference and by dlsym.
#include <dlfcn.h>
#include <sys/epoll.h>

#include "victim.h"

#pragma weak epoll_pwait2

// Apart, so that the address is read again.
__attribute__((noipa)) static int wait_for_nothing() {
  const timespec late = {0, 50000000};
  epoll_event event;
  return epoll_pwait2(epoll_create1(0), &event, 1, &late, nullptr);
}

int main() {
  wait_moments(2);
  auto* volatile weak = &epoll_pwait2;
  printf("weak: %d\n", weak != nullptr);
  for (const char* name : {"epoll_pwait2", "epoll_pwait"}) {
    printf("%s by default: %d\n", name, dlsym(RTLD_DEFAULT, name) != nullptr);
    printf("%s next: %d\n", name, dlsym(RTLD_NEXT, name) != nullptr);
    printf("%s in libc: %d\n", name, dlsym(dlopen("libc.so.6", RTLD_LAZY), name) != nullptr);
  }
  printf("with its version: %d\n", dlvsym(RTLD_DEFAULT, "epoll_pwait2", "GLIBC_2.35") != nullptr);
  if (weak == nullptr) return 0;
  printf("called: %d\n", wait_for_nothing());
}
