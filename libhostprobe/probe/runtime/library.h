// library.h: the libraries whose functions programs reach by several routes, told by file name and by function name.
//
// Room 2 (probe/). Used wherever objects and names are looked at: got.cpp, elf_object.cpp, routes.cpp.
#pragma once

#include <cstdint>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {

enum class Library : std::uint8_t { kDriver, kNccl };
inline constexpr unsigned kLibraries = 2;

// Every hooked name begins with cu or nccl.
inline Library library_of(const char* function) { return function[0] == 'n' ? Library::kNccl : Library::kDriver; }

// A path without its folders.
inline const char* file_of(const char* path) {
  const char* file = path;
  for (const char* c = path; *c != 0; ++c)
    if (*c == '/') file = c + 1;
  return file;
}

// RCCL is NCCL for AMD's GPUs, function by function. False: no library of ours.
inline bool is_library(const char* file, Library& library) {
  library = after(file, "libcuda.so") != nullptr ? Library::kDriver : Library::kNccl;
  return library == Library::kDriver || after(file, "libnccl.so") != nullptr || after(file, "librccl.so") != nullptr;
}
inline bool is_library_file(const char* path, Library& library) { return is_library(file_of(path), library); }

}  // namespace hostprobe::probe
