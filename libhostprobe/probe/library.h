// library.h: the libraries whose functions programs reach by several routes, told by file name and by function name.
//
// Room 2 (probe/). Used wherever objects and names are looked at: got.cpp, elf_object.cpp, routes.cpp.
#pragma once

#include <string.h>

#include <cstdint>

namespace hostprobe::probe {

enum class Library : std::uint8_t { kDriver, kNccl };
inline constexpr unsigned kLibraries = 2;

// Every hooked name begins with cu or nccl.
inline Library library_of(const char* function) { return function[0] == 'n' ? Library::kNccl : Library::kDriver; }

// RCCL is NCCL for AMD's GPUs, function by function. False: no library of ours.
inline bool is_library_file(const char* path, Library& library) {
  const char* slash = strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  library = strncmp(file, "libcuda.so", 10) == 0 ? Library::kDriver : Library::kNccl;
  return library == Library::kDriver || strncmp(file, "libnccl.so", 10) == 0 || strncmp(file, "librccl.so", 10) == 0;
}

}  // namespace hostprobe::probe
