// elf_object.h: what the dynamic section of a loaded object says about its symbols and slots.
//
// Room 2 (probe/). Finds slots and functions without dlopen and dlsym: those
// would run initialisers too early, and a handle made of a link_map is only good for objects that dlopen itself opened.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "probe/runtime/library.h"

namespace hostprobe::probe {

struct ElfObject {
  std::uintptr_t bias = 0;
  std::uintptr_t begin = 0, end = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * plt = nullptr;
  std::size_t plt_count = 0;
  const ElfW(Rela) * data = nullptr;
  std::size_t data_count = 0;
  std::size_t relative_count = 0;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* old_hash = nullptr;
  const ElfW(Half) * version_of = nullptr;          // per symbol, an index into…
  const ElfW(Verdef) * versions = nullptr;          // …what the object defines
  const ElfW(Verneed) * needed_versions = nullptr;  // …or what it asks others for
  bool needs[kLibraries] = {};                      // which of our libraries it is linked to

  bool holds(const void* address) const {
    auto a = reinterpret_cast<std::uintptr_t>(address);
    return a >= begin && a < end;
  }
};

// False: the object has no dynamic section that could be read.
bool read_elf_object(const dl_phdr_info& info, ElfObject& object);

// Only what its dynamic section says of symbols: neither its extent nor what it needs. The loader's lock is not taken.
bool read_symbols(const link_map& map, ElfObject& object);

// Address of a function the object defines under this name; nullptr: none.
void* defined_function(const ElfObject& object, const char* name);

// The symbol of a variable the object defines under this name; nullptr: none.
const ElfW(Sym) * object_symbol(const ElfObject& object, const char* name);

// The symbol of this name that dlvsym would take for `version` from this object; nullptr: none. An object that has no
// versions satisfies each. `version` nullptr: the one that a reference without a version gets.
const ElfW(Sym) * versioned_symbol(const ElfObject& object, const char* name, const char* version);

}  // namespace hostprobe::probe
