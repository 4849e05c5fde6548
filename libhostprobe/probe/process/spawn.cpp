// spawn.cpp: posix_spawn and posix_spawnp, for what the program that they start is given (next_program.h).
//
// Room 2 (probe/). Nothing is recorded here. Cold. The exec itself happens inside of libc, where nobody can stand in front of it.
#include <fcntl.h>
#include <spawn.h>

#include "probe/process/next_program.h"
#include "probe/record/hook.h"

using namespace hostprobe::probe;

#define HP_SPAWN_HOOK(name, along_path)                                                                                \
  HP_ROW(kThread, kOther, name, "GLIBC_2.15", 0, 0, "", "", "", "", "")                                                \
  extern "C" HP_EXPORT int hp_##name(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, \
                                     Words, Words) __asm__(#name);                                                     \
  extern "C" int hp_##name(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,                  \
                           const posix_spawnattr_t* attributes, Words arguments, Words environment) {                  \
    const auto real = libc_target<decltype(&hp_##name)>(g_hook_##name);                                                \
    return with_next_environment({AT_FDCWD, path, 0, along_path}, environment, [&](Words given) {                      \
      return real(child, path, actions, attributes, arguments, given);                                                 \
    });                                                                                                                \
  }

HP_SPAWN_HOOK(posix_spawn, false)
HP_SPAWN_HOOK(posix_spawnp, true)
