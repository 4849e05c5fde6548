// dump.cpp: see dump.h.
#include "dump.h"

#include <fmt/format.h>

#include <system_error>

#include "trace/kernel_rows.h"
#include "trace/reader.h"

namespace hostprobe::analysis {

std::vector<std::string> dump_run(const ChosenJob& chosen, DumpForm form, const Sink& sink, bool switches) {
  std::vector<std::string> problems;
  Symbols symbols;
  for (const std::string& file : chosen.traces) {
    try {
      const Trace trace = read_trace(file);
      if (is_kernel_trace(trace))
        dump_kernel(trace, form, sink);
      else
        dump_process(trace, symbols, form, sink, switches);
      for (const Damage& damage : trace.damages) {
        problems.push_back(
            fmt::format("{}: {} bytes at offset {}: {}", file, damage.bytes, damage.offset, damage.what));
      }
    } catch (const TraceError& error) {
      problems.push_back(fmt::format("{}: offset {}: {}", file, error.offset, error.what()));
    } catch (const std::system_error& error) {
      problems.push_back(fmt::format("{}: {}", file, error.what()));
    }
  }
  return problems;
}

}  // namespace hostprobe::analysis
