// native_stacks TRACE: the return addresses of the stacks in a trace file, a stack a line, innermost first.
#include <cstdio>

#include "trace/reader.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const auto& [index, stack] : hostprobe::analysis::read_trace(argv[1]).stacks) {
    for (const std::uint64_t address : stack.native) std::printf("%#lx ", static_cast<unsigned long>(address));
    std::printf("\n");
  }
}
