// thread_type.cpp: see thread_type.h.
#include "probe/hooks/thread_type.h"

#include <stdlib.h>
#include <sys/single_threaded.h>

#include <link.h>
#include <string.h>

#include <cstdint>

#include "probe/intercept/loader.h"

namespace hostprobe::probe {
namespace {

struct Object {
  std::uintptr_t address;         // asked for
  const char* name;               // "" for the program itself; nullptr: no object has that address
  std::uintptr_t code_begin = 0;  // its executable segment; the last one where there are several
  std::uintptr_t code_end = 0;
};

Object object_at(const void* address) {
  Object object{reinterpret_cast<std::uintptr_t>(address), nullptr};
  dl_phdr_info info;
  if (address == nullptr || !find_object(address, info)) return object;
  object.name = info.dlpi_name == nullptr ? "" : info.dlpi_name;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& p = info.dlpi_phdr[i];
    if (p.p_type != PT_LOAD || (p.p_flags & PF_X) == 0) continue;
    object.code_begin = info.dlpi_addr + p.p_vaddr;
    object.code_end = object.code_begin + p.p_memsz;
  }
  return object;
}

bool is_named(const Object& object, const char* library) {
  return object.name != nullptr && strstr(object.name, library) != nullptr;
}

bool is_nccl(const Object& object) { return is_named(object, "/libnccl.so") || is_named(object, "/librccl.so"); }

bool is_code_of(const Object& object, std::uintptr_t address) {
  return address >= object.code_begin && address < object.code_end;
}

// The object behind a std::thread, by the Itanium C++ ABI: it starts with the pointer to its virtual table; the word
// before the table's first function is the type_info, a { vtable, name }. The third function runs the thread.
void look_into_state(const void* state, ThreadOrigin& origin) {
  auto* const* words = static_cast<const void* const*>(state);
  auto* const* vtable = static_cast<const void* const*>(words[0]);
  Object module = object_at(vtable);
  if (module.name == nullptr) return;
  auto* const* type_info = static_cast<const void* const*>(vtable[-1]);
  if (type_info != nullptr) origin.type = static_cast<const char*>(type_info[1]);
  if (is_code_of(module, reinterpret_cast<std::uintptr_t>(vtable[2]))) origin.routine = vtable[2];
  // An object may be two words long; what lies behind on the same page can be read in any case.
  constexpr std::uintptr_t kPage = 4096;
  std::uintptr_t room = (kPage - reinterpret_cast<std::uintptr_t>(state) % kPage) / sizeof(void*);
  for (std::uintptr_t i = 1; i < 3 && i < room; ++i)
    if (is_code_of(module, reinterpret_cast<std::uintptr_t>(words[i]))) origin.routine = words[i];
  origin.of_nccl = is_nccl(module);
}

}  // namespace

ThreadOrigin thread_origin(const void* creator, const void* routine, const void* argument) {
  Object owner = object_at(routine);
  ThreadOrigin origin{nullptr, routine, is_nccl(owner)};
  bool by_libstdcxx = is_named(object_at(creator), "libstdc++.so") && is_named(owner, "libstdc++.so");
  if (by_libstdcxx && argument != nullptr) look_into_state(argument, origin);
  return origin;
}

void have_nccl_threads_named() {
  if (__libc_single_threaded) setenv("NCCL_SET_THREAD_NAME", "1", 0);
}

}  // namespace hostprobe::probe
