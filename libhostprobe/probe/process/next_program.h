// next_program.h: the program that an exec or a spawn is about to start, and whether it can live with us in front of it.
//
// Room 2 (probe/). Before the call, also in a vfork child and in a signal handler: no allocation, no lock, errno stays, and whatever
// is not clear is left as it is. musl's loader ends a program that LD_PRELOAD gives a library made for glibc, so that program
// gets an LD_PRELOAD without us. ASan's runtime ends a program in which it is not the first library of all, so it is put before us.
#pragma once

#include <cstddef>
#include <cstdint>

#include "elf/program_head.h"

namespace hostprobe::probe {

using Words = char* const*;

// As the *at() system calls take it. `along_path`: a bare name is looked for as execvp does.
struct ProgramAt {
  int folder;
  const char* path;
  int flags;
  bool along_path = false;
};

// By what the kernel says of the file: without leave to run it, or of something else than a file, an exec will fail.
bool may_be_run(const ProgramAt& program);

// What becomes of an environment. Small: it lies on every stack that an exec is called on.
struct PreloadChange {
  std::uint32_t words;  // of the environment; 0: it stays as it is
  std::uint32_t place;  // of LD_PRELOAD among them
  std::uint32_t bytes;  // for what it says instead
  char runtime[48];     // that is put before us; empty: we are left out
};

void find_preload_change(const ProgramAt& program, Words environment, PreloadChange& change);
// `to` has room for the words and a null pointer behind them, `text` for the bytes.
void make_environment(const PreloadChange& change, Words from, char** to, char* text);

// `call` gets the environment that the program is to have, which lives as long as the call.
template <class Call>
__attribute__((noinline)) auto with_next_environment(const ProgramAt& program, Words environment, Call call) {
  PreloadChange change;
  find_preload_change(program, environment, change);
  if (change.words == 0) return call(environment);
  auto** changed = static_cast<char**>(__builtin_alloca((change.words + 1) * sizeof(char*)));
  make_environment(change, environment, changed, static_cast<char*>(__builtin_alloca(change.bytes)));
  return call(static_cast<Words>(changed));
}

// The constructor, in a program that has ASan's runtime: what was put before us is taken out again, in place. The loader has read
// it, and the program's children must not get it.
void take_runtime_out(char** environment);

// From here on the kernel may end this process for any call of ours.
void leave_next_programs_alone();

}  // namespace hostprobe::probe
