// sanitizer.cpp: see sanitizer.h. Runs first in the constructor. Only with a sanitizer: to bind all our calls at once costs
// what other processes should not pay.
#include "probe/runtime/sanitizer.h"

#include "probe/runtime/at_start.h"
#include "probe/runtime/elf_object.h"

namespace hostprobe::probe {

HP_START_DATA bool g_has_sanitizer = false;

namespace {

// The version that our reference to this symbol asks for; nullptr: any.
HP_START_CODE const char* version_asked(const ElfObject& own, const ElfW(Sym) & symbol) {
  if (own.version_of == nullptr || own.needed_versions == nullptr) return nullptr;
  const ElfW(Half) index = own.version_of[&symbol - own.symbols] & 0x7fff;
  for (const ElfW(Verneed)* need = own.needed_versions;;) {
    auto* bytes = reinterpret_cast<const char*>(need) + need->vn_aux;
    for (unsigned i = 0; i < need->vn_cnt; ++i) {
      auto* version = reinterpret_cast<const ElfW(Vernaux)*>(bytes);
      if ((version->vna_other & 0x7fff) == index) return own.strings + version->vna_name;
      bytes += version->vna_next;
    }
    if (need->vn_next == 0) return nullptr;
    need = reinterpret_cast<const ElfW(Verneed)*>(reinterpret_cast<const char*>(need) + need->vn_next);
  }
}

}  // namespace

// lib?san.so of gcc, libclang_rt.?san-x86_64.so of clang.
HP_START_CODE bool is_sanitizer(const char* file) {
  const char* dot = after(file, "lib");
  if (dot == nullptr) return false;
  while (*dot != 0 && *dot != '.') ++dot;
  return (dot - file >= 6 && after(dot - 3, "san.so") != nullptr) || after(file, "libclang_rt.") != nullptr;
}

// A runtime that is linked into the program shows its functions to libraries, gcc's only those of libc's names.
HP_START_CODE bool holds_sanitizer(const link_map& program) {
  ElfObject object;
  return read_symbols(program, object) && (defined_function(object, "__sanitizer_set_report_path") != nullptr ||
                                           defined_function(object, "strncmp") != nullptr);
}

// A try function is asked in place of the function that the program called, so whoever stands behind us must see it as
// they would have seen that: TSan keeps account of who holds which lock.
static const ElfW(Sym) * definition_for(const link_map& own, const link_map& libc, const char* name,
                                        const char* version, ElfObject& found_in) {
  bool is_try = false;
  for (const char* c = name; *c != 0; ++c) is_try = is_try || after(c, "try") != nullptr;
  for (const link_map* map = is_try ? own.l_next : &libc; map != nullptr; map = map->l_next) {
    found_in = {};
    const ElfW(Sym)* found = read_symbols(*map, found_in) ? versioned_symbol(found_in, name, version) : nullptr;
    if (found != nullptr || !is_try) return found;
  }
  return nullptr;
}

// An indirect function is asked which of its forms it is, as the loader would. What we export ourselves goes past us too.
void call_libc_itself(const link_map& own, const link_map& libc) {
  ElfObject ours, theirs;
  if (!read_symbols(own, ours)) return;
  for (std::size_t i = 0; i < ours.plt_count; ++i) {
    const ElfW(Sym)& symbol = ours.symbols[ELF64_R_SYM(ours.plt[i].r_info)];
    const ElfW(Sym)* found =
        definition_for(own, libc, ours.strings + symbol.st_name, version_asked(ours, symbol), theirs);
    if (found == nullptr) continue;
    auto* address = reinterpret_cast<void*>(theirs.bias + found->st_value);
    if (ELF64_ST_TYPE(found->st_info) == STT_GNU_IFUNC) address = reinterpret_cast<void* (*)()>(address)();
    *reinterpret_cast<void**>(ours.bias + ours.plt[i].r_offset) = address;
  }
}

}  // namespace hostprobe::probe
