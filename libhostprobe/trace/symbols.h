// symbols.h: code addresses become names.
//
// Room 3. A symbol is named only when its size covers the address: the nearest exported symbol of a stripped library is
// usually the wrong one (PyThread_tss_set+0xd5 is really take_gil), and a wrong name is worse than module+offset.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hostprobe::analysis {

struct Module;
struct Stack;
struct Trace;

// Functions of one ELF file, from its symbol table, its debug file, or else its dynamic symbols.
class SymbolTable {
 public:
  // Empty when the file is gone, or is not the build that was traced.
  SymbolTable(const std::string& path, const std::string& build_id);
  // Mangled name of the function that covers the address; "" = none does.
  std::string_view covering(std::uint64_t address, std::uint64_t& offset) const;

 private:
  struct Symbol {
    std::uint64_t address;
    std::uint64_t size;
    const char* name;  // in file_, which stays mapped for it
  };
  void load(const std::string& path, const std::string& build_id);

  std::shared_ptr<class ElfFile> file_;
  std::vector<Symbol> symbols_;
};

struct CodePlace {
  std::string library;       // "unknown" when no module holds the address
  std::string function;      // demangled; "" = no symbol covers the address
  std::uint64_t offset = 0;  // into the function, or else into the module

  // "function+0x12 (library)" or "library+0x1234".
  std::string text() const;
  // "function (library)": all calls from one function under one name.
  std::string caller_text() const;
};

// May be asked by several threads at once: traces are analysed side by side, and most of them use the same libraries.
class Symbols {
 public:
  // `is_return_address`: the call lies just before it, which matters when the call is a function's last instruction.
  CodePlace place(const Trace& trace, std::uint64_t address, bool is_return_address = true);

 private:
  const SymbolTable& table_of(const Module& module);
  std::mutex mutex_;  // libelf reads a file for one thread at a time
  std::map<std::pair<std::string, std::string>, std::unique_ptr<SymbolTable>> tables_;
};

// A stack as a report prints it, innermost first: Python frames where they are known, else code.
std::vector<std::string> stack_text(const Trace& trace, const Stack& stack, Symbols& symbols);

// A C++ function or type as people write it; what is no mangled name comes back as it is. Two functions, because "f" is
// a fine name of a function and the mangled name of float.
std::string demangle(const std::string& name);
std::string demangle_type(const std::string& name);

}  // namespace hostprobe::analysis
