// gpu_states.cpp: see gpu_states.h.
#include "gpu_states.h"

#include <algorithm>

#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

struct Piece {
  double begin_ns, end_ns;
  const PathOperation* operation;
  std::uint32_t activity;
};

void sort_by_begin(std::vector<Piece>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& l, const Piece& r) { return l.begin_ns < r.begin_ns; });
}

// Pieces that overlap or touch are one. Of those that wait, the one that waits longest says for whom.
std::vector<GpuStretch> joined(std::vector<Piece>& pieces, GpuState state) {
  sort_by_begin(pieces);
  std::vector<GpuStretch> spans;
  for (const Piece& piece : pieces) {
    if (piece.end_ns <= piece.begin_ns) continue;
    const bool same = !spans.empty() && piece.begin_ns <= spans.back().end_ns;
    if (same && (piece.operation == spans.back().operation || piece.end_ns <= spans.back().end_ns))
      spans.back().end_ns = std::max(spans.back().end_ns, piece.end_ns);
    else
      spans.push_back(
          {same ? spans.back().end_ns : piece.begin_ns, piece.end_ns, state, piece.operation, piece.activity});
  }
  return spans;
}

// `more` only where nothing of `first` is. Both by time.
std::vector<GpuStretch> laid_under(const std::vector<GpuStretch>& first, const std::vector<GpuStretch>& more) {
  std::vector<GpuStretch> all;
  std::size_t at = 0;
  for (GpuStretch span : more) {
    for (; at < first.size() && first[at].end_ns <= span.begin_ns; ++at) all.push_back(first[at]);
    for (; at < first.size() && first[at].begin_ns < span.end_ns; ++at) {
      GpuStretch before = span;
      before.end_ns = first[at].begin_ns;
      if (before.end_ns > before.begin_ns) all.push_back(before);
      span.begin_ns = std::max(span.begin_ns, first[at].end_ns);
      if (first[at].end_ns > span.end_ns) break;
      all.push_back(first[at]);
    }
    if (span.end_ns > span.begin_ns) all.push_back(span);
  }
  all.insert(all.end(), first.begin() + static_cast<std::ptrdiff_t>(at), first.end());
  return all;
}

// What ended last, of all that has begun.
struct LastEnd {
  double ns = -1e300, lasted_ns = 0, error_ns = 0;
  std::uint32_t number = kNoActivity;

  void take(const ActivityNode& node, std::uint32_t of) {
    if (node.end_ns <= ns) return;
    *this = {node.end_ns, node.end_ns - node.begin_ns, static_cast<double>(node.error_ns), of};
  }
  // As long after it nobody knows whether it had ended. Small errors cancel out over many gaps, but not those of work of which only
  // the most that it can last is known.
  double unknown_ns() const { return error_ns > kClockErrorNs || error_ns >= lasted_ns ? error_ns : 0; }
};

void add_gap(const GpuStretch& gap, const LastEnd& last, std::vector<GpuStretch>& whole) {
  GpuStretch idle = gap;
  idle.dry_ns = gap.begin_ns;
  idle.ended = last.number;
  if (last.unknown_ns() > 0) {
    GpuStretch unknown = gap;
    unknown.state = GpuState::kUnknown;
    unknown.end_ns = std::min(gap.end_ns, gap.begin_ns + last.unknown_ns());
    whole.push_back(unknown);
    idle.begin_ns = unknown.end_ns;
  }
  if (idle.end_ns > idle.begin_ns) whole.push_back(idle);
}

std::vector<GpuStretch> with_gaps(const std::vector<GpuStretch>& spans, const std::vector<ActivityNode>& nodes) {
  std::vector<GpuStretch> whole;
  std::uint32_t next = 0;
  LastEnd last;
  for (const GpuStretch& span : spans) {
    for (; next < nodes.size() && nodes[next].begin_ns < span.begin_ns; ++next) last.take(nodes[next], next);
    if (!whole.empty() && span.begin_ns > whole.back().end_ns) {
      const bool is_end = next < nodes.size() && nodes[next].begin_ns <= span.begin_ns;
      add_gap({whole.back().end_ns, span.begin_ns, GpuState::kIdle, nullptr, is_end ? next : kNoActivity}, last, whole);
    }
    whole.push_back(span);
  }
  return whole;
}

}  // namespace

std::vector<GpuStretch> gpu_stretches(const JobGraph& job, std::uint32_t part) {
  const std::vector<ActivityNode>& nodes = job.parts[part].nodes;
  std::vector<Piece> work, copies, transfer, waiting, unknown;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const ActivityNode& node = nodes[i];
    if (node.unknown) {
      unknown.push_back({node.begin_ns, node.end_ns, nullptr, i});
      continue;
    }
    if (!node.collective) {
      (node.blocks ? copies : work).push_back({node.begin_ns, node.end_ns, nullptr, i});
      continue;
    }
    if (node.elsewhere) {  // when the others came is not known, so what is waiting and what moves data is not either
      waiting.push_back({node.begin_ns, node.end_ns, nullptr, i});
      continue;
    }
    const PathOperation* operation = job.awaited({part, i});
    const double all_there_ns =
        operation == nullptr ? node.begin_ns : std::clamp(operation->last_ns, node.begin_ns, node.end_ns);
    waiting.push_back({node.begin_ns, all_there_ns, operation, i});
    transfer.push_back({all_there_ns, node.end_ns, nullptr, i});
  }
  std::vector<GpuStretch> spans = laid_under(joined(work, GpuState::kWorks), joined(copies, GpuState::kBlocks));
  spans = laid_under(spans, joined(transfer, GpuState::kTransfers));
  spans = laid_under(spans, joined(waiting, GpuState::kWaits));
  spans = laid_under(spans, joined(unknown, GpuState::kUnknown));
  return with_gaps(spans, nodes);
}

}  // namespace hostprobe::analysis
