// program_file.h: how a preloaded library fares in a program, by its file.
//
// Room 4. So that a run without a trace has its true reason, and a program that we would end runs without us.
#pragma once

#include <string>

namespace hostprobe::cli {

struct ProgramFile {
  // Why nothing can be loaded into it: "statically linked", "setuid", "built against musl", "not a 64-bit x86 program" (of what this is built for). ""
  // where nothing speaks against it, or the file cannot be read.
  std::string obstacle;
  bool fails_with_us = false;     // its loader ends it where LD_PRELOAD names us
  std::string runtime_before_us;  // a library that has to be loaded before us; "": none
};

// `program` is found along PATH as execvp does.
ProgramFile look_at_program(const std::string& program);

}  // namespace hostprobe::cli
