// record_row.cpp: see record_row.h.
#include "record_row.h"

#include "trace/trace_head.h"

namespace hostprobe::tables {

Words::Words(const analysis::Hook& hook)
    : stream(hook.word_of("stream")),
      kernel(hook.word_of("kernel")),
      graph(hook.word_of("graph")),
      nodes(hook.word_of("nodes")),
      kernels(hook.word_of("kernels")),
      grid(hook.word_of("grid")),
      block(hook.word_of("block")),
      shared_bytes(hook.word_of("shared_bytes")),
      site(hook.word_of("site")),
      name(hook.word_of("name")),
      category(hook.word_of("category")),
      value(hook.word_of("value")),
      bytes(hook.word_of("bytes")) {}

TraceRows::TraceRows(std::shared_ptr<const OpenTrace> one, analysis::Symbols& all_symbols)
    : open(std::move(one)), symbols(all_symbols), arguments(trace(), symbols, roles, true) {
  const FileHeader& header = trace().header;
  host = analysis::host_of(header);
  for (const analysis::Hook& hook : trace().hooks) words.emplace_back(hook);
  for (const analysis::Track& track : open->timeline.tracks()) roles[track.key()] = track.role;
}

}  // namespace hostprobe::tables
