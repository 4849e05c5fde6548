// python_symbols.h: the interpreter's own symbols.
//
// Room 2 (probe/), cold. Not by dlsym: a libpython inside a plug-in that was opened
// RTLD_LOCAL is in no scope that dlsym searches. The first definition in load order wins, so a copy of PyCode_Type in a
// non-PIE program beats the original in libpython, as it does for the interpreter itself.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include <cstdint>

namespace hostprobe::probe {

struct PythonSymbols {
  std::uint64_t thread_state = 0, finalizing = 0, finalizing_before_313 = 0;
  std::uint64_t code_type = 0, text_type = 0, bytes_type = 0, type_type = 0;
  std::uint64_t runtime = 0, version = 0, get_version = 0;
  std::uint64_t debug_build = 0;  // only there with Py_DEBUG
  char home[1024] = {};           // path of the object that has thread_state; empty: it stays loaded by itself
};

struct PythonName {
  const char* name;
  std::uint64_t PythonSymbols::*place;
};
inline constexpr PythonName kPythonNames[] = {
    {"PyGILState_GetThisThreadState", &PythonSymbols::thread_state},
    {"Py_IsFinalizing", &PythonSymbols::finalizing},
    {"_Py_IsFinalizing", &PythonSymbols::finalizing_before_313},
    {"PyCode_Type", &PythonSymbols::code_type},
    {"PyUnicode_Type", &PythonSymbols::text_type},
    {"PyBytes_Type", &PythonSymbols::bytes_type},
    {"PyType_Type", &PythonSymbols::type_type},
    {"_PyRuntime", &PythonSymbols::runtime},
    {"Py_Version", &PythonSymbols::version},
    {"Py_GetVersion", &PythonSymbols::get_version},
    {"_Py_NegativeRefcount", &PythonSymbols::debug_build},
};

struct Exports {
  std::uint64_t base = 0;
  const std::uint32_t* hash = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

inline bool exports_of(std::uint64_t base, const ElfW(Dyn) * dynamic, Exports& out) {
  out.base = base;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    // The loader relocates these addresses in place, except in read-only objects (the vDSO).
    std::uint64_t address = dynamic->d_un.d_ptr;
    if (address < base) address += base;
    if (dynamic->d_tag == DT_GNU_HASH) out.hash = reinterpret_cast<const std::uint32_t*>(address);
    if (dynamic->d_tag == DT_SYMTAB) out.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) out.names = reinterpret_cast<const char*>(address);
  }
  return out.hash != nullptr && out.symbols != nullptr && out.names != nullptr;
}

inline const ElfW(Dyn) * dynamic_section(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i)
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
      return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  return nullptr;
}

inline bool exports_of(const dl_phdr_info& object, Exports& out) {
  return exports_of(object.dlpi_addr, dynamic_section(object), out);
}

inline std::uint64_t address_of(const Exports& exports, const char* name) {
  const std::uint32_t buckets = exports.hash[0], first = exports.hash[1], bloom_words = exports.hash[2];
  const std::uint32_t* bucket = exports.hash + 4 + bloom_words * 2;
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t hash = 5381;
  for (const char* c = name; *c != 0; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  std::uint32_t i = buckets == 0 ? 0 : bucket[hash % buckets];
  if (i < first || i == 0) return 0;
  for (;; ++i) {
    const ElfW(Sym)& symbol = exports.symbols[i];
    const std::uint32_t link = chain[i - first];
    if ((link | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF && strcmp(exports.names + symbol.st_name, name) == 0) {
      return exports.base + symbol.st_value;
    }
    if ((link & 1) != 0) return 0;
  }
}

// True: it is the first one that has the thread state.
inline bool search_object(std::uint64_t base, const ElfW(Dyn) * dynamic, PythonSymbols& symbols) {
  Exports exports;
  if (!exports_of(base, dynamic, exports)) return false;
  const bool is_first_home = symbols.thread_state == 0;
  for (const PythonName& wanted : kPythonNames) {
    std::uint64_t& place = symbols.*wanted.place;
    if (place == 0) place = address_of(exports, wanted.name);
  }
  return is_first_home && symbols.thread_state != 0;
}

inline int search_loaded(dl_phdr_info* object, std::size_t, void* argument) {
  auto& symbols = *static_cast<PythonSymbols*>(argument);
  if (search_object(object->dlpi_addr, dynamic_section(*object), symbols))
    strncpy(symbols.home, object->dlpi_name, sizeof symbols.home - 1);
  return 0;
}

// A plug-in that is closed takes its libpython along, and a call would jump into nothing. So it stays loaded.
inline bool stays_loaded(const char* path) {
  return *path == 0 || dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

// Takes the loader's lock.
inline void find_python_symbols(PythonSymbols& out) { dl_iterate_phdr(search_loaded, &out); }

// Takes none: of the objects from `first` to `last`, which stay loaded, so no home has to be kept.
inline void find_python_symbols(const link_map* first, const link_map* last, PythonSymbols& out) {
  for (const link_map* map = first; map != nullptr; map = map == last ? nullptr : map->l_next)
    search_object(map->l_addr, map->l_ld, out);
}

}  // namespace hostprobe::probe
