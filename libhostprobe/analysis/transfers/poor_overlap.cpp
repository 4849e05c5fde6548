// poor_overlap.cpp: see poor_overlap.h.
#include "poor_overlap.h"

#include <algorithm>
#include <cstdint>

#include "transfer_share.h"

namespace hostprobe::analysis {
namespace {

constexpr double kOverlapNs = 1000;        // by which two may seem to overlap
constexpr double kMostOverlapped = 0.05;   // of their time, of collectives that are not overlapped
constexpr std::size_t kFewestGathers = 3;  // behind each other, of parameters
constexpr std::size_t kFewestInRow = 2;

struct Move {
  Window window;  // since all ranks have come
  std::uint32_t transfer = kNoTransfer;
};

// Collectives of one communicator, with no work in between.
struct MoveRow {
  std::vector<Move> moves;
  double work_before_ns = 0;  // since the row before, or the step began
};

struct MovesOfStep {
  std::vector<MoveRow> rows;
  double work_behind_ns = 0;  // the last row, until the step ends
  double overlapped_ns = 0;   // of all moves
};

// The work of a rank's GPU that no collective is, without what overlaps in it.
class WorkTimes {
 public:
  void add(const Window& one) {
    if (!all_.empty() && one.begin_ns <= all_.back().end_ns)
      all_.back().end_ns = std::max(all_.back().end_ns, one.end_ns);
    else
      all_.push_back(one);
  }
  double inside_ns(const Window& window) const {
    auto one = std::partition_point(all_.begin(), all_.end(),
                                    [&](const Window& work) { return work.end_ns <= window.begin_ns; });
    double ns = 0;
    for (; one != all_.end() && one->begin_ns < window.end_ns; ++one)
      ns += std::min(one->end_ns, window.end_ns) - std::max(one->begin_ns, window.begin_ns);
    return ns;
  }

 private:
  std::vector<Window> all_;  // by begin
};

class RankMoves {
 public:
  RankMoves(const JobGraph& job, std::uint32_t part) : job_(job), graph_(job.parts[part]) {
    for (const ActivityNode& node : graph_.nodes)
      if (!node.collective) work_.add({node.begin_ns, node.end_ns});
  }

  MovesOfStep of_step(const Window& step) const {
    MovesOfStep all;
    double at_ns = step.begin_ns;
    const auto first = std::partition_point(graph_.nodes.begin(), graph_.nodes.end(),
                                            [&](const ActivityNode& node) { return node.begin_ns < step.begin_ns; });
    for (auto node = first; node != graph_.nodes.end() && node->begin_ns < step.end_ns; ++node) {
      if (!node->collective) continue;
      const Move move = move_of(*node);
      const double between_ns = work_.inside_ns({at_ns, move.window.begin_ns});
      const bool continues = !all.rows.empty() && between_ns < kOverlapNs && was_queued(*node, at_ns) &&
                             are_of_one(all.rows.back().moves.back(), move);
      if (!continues) all.rows.push_back({{}, between_ns});
      all.rows.back().moves.push_back(move);
      all.overlapped_ns += work_.inside_ns(move.window);
      at_ns = std::max(at_ns, move.window.end_ns);
    }
    all.work_behind_ns = work_.inside_ns({at_ns, step.end_ns});
    return all;
  }

 private:
  Move move_of(const ActivityNode& node) const {
    Move move{{node.begin_ns, node.end_ns}};
    if (node.waits != 1) return move;
    const PathOperation& operation = job_.operations[graph_.waits[node.first_wait]];
    move.window.begin_ns = std::min(node.end_ns, std::max(node.begin_ns, operation.last_ns));
    if (operation.receiver < 0) move.transfer = operation.transfer;
    return move;
  }
  // Before that moment, so the host did not look at what the one before it brought.
  bool was_queued(const ActivityNode& node, double at_ns) const {
    return node.launched_before || (node.launch.call >= 0 && graph_.call(node.launch).begin_ns < at_ns);
  }
  bool are_of_one(const Move& l, const Move& r) const {
    return l.transfer != kNoTransfer && r.transfer != kNoTransfer &&
           job_.transfers[l.transfer].communicator == job_.transfers[r.transfer].communicator;
  }

  const JobGraph& job_;
  const PathGraph& graph_;
  WorkTimes work_;
};

// Of each of JobGraph::transfers, of all ranks.
class HideableTimes {
 public:
  explicit HideableTimes(const JobGraph& job) : job_(job), ns_(job.transfers.size()) {}

  void add(const MovesOfStep& step) {
    for (const MoveRow& row : step.rows)
      for (const Move& move : row.moves) moved_ns_ += move.window.length_ns();
    overlapped_ns_ += step.overlapped_ns;
    std::vector<double> work_ns;  // before each row, and behind the last
    for (const MoveRow& row : step.rows) work_ns.push_back(row.work_before_ns);
    work_ns.push_back(step.work_behind_ns);
    if (gathers_parameters(step.rows))
      add_sharded(step.rows, work_ns);
    else
      add_rows(step.rows, work_ns);
  }
  bool is_overlapped() const { return overlapped_ns_ > kMostOverlapped * moved_ns_; }
  const std::vector<double>& ns() const { return ns_; }

 private:
  bool is(const Move& move, const char* operation) const {
    return move.transfer != kNoTransfer && job_.transfers[move.transfer].operation == operation;
  }
  bool gathers(const Move& move) const { return is(move, "AllGather"); }
  bool reduces(const Move& move) const { return is(move, "ReduceScatter") || is(move, "AllReduce"); }

  bool gathers_parameters(const std::vector<MoveRow>& rows) const {
    std::size_t gathered = 0, in_rows = 0;
    std::uint64_t communicator = 0;
    for (const MoveRow& row : rows) {
      const bool all = std::all_of(row.moves.begin(), row.moves.end(), [&](const Move& one) { return gathers(one); });
      const std::uint64_t own = all ? job_.transfers[row.moves.front().transfer].communicator : 0;
      if (!all || own != communicator) gathered = 0, in_rows = 0;
      communicator = own;
      if (all) gathered += row.moves.size(), ++in_rows;
      if (gathered >= kFewestGathers && in_rows > 1) return true;
    }
    return false;
  }

  // What of it the work has time for, which it takes.
  void hide(const Move& move, double ns, double& work_ns) {
    const double hidden_ns = std::min(ns, work_ns);
    ns_[move.transfer] += hidden_ns;
    work_ns -= hidden_ns;
  }

  // What is gathered first nothing was before, and behind the last reduction its result is needed.
  void add_sharded(const std::vector<MoveRow>& rows, std::vector<double>& work_ns) {
    const Move* last = nullptr;
    for (const MoveRow& row : rows)
      for (const Move& move : row.moves)
        if (reduces(move)) last = &move;
    bool is_first = true;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const Move& move : rows[i].moves) {
        if (reduces(move) && &move != last) hide(move, move.window.length_ns(), work_ns[i + 1]);
        if (gathers(move) && !is_first) hide(move, move.window.length_ns(), work_ns[i]);
        is_first = is_first && !gathers(move);
      }
  }
  void add_rows(const std::vector<MoveRow>& rows, std::vector<double>& work_ns) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<Move>& moves = rows[i].moves;
      if (moves.size() < kFewestInRow) continue;
      const auto longest = std::max_element(moves.begin(), moves.end(), [](const Move& l, const Move& r) {
        return l.window.length_ns() < r.window.length_ns();
      });
      for (auto move = moves.begin(); move != moves.end(); ++move)
        if (move != longest) hide(*move, move->window.length_ns(), work_ns[gathers(*move) ? i + 1 : i]);
    }
  }

  const JobGraph& job_;
  std::vector<double> ns_;
  double moved_ns_ = 0, overlapped_ns_ = 0;
};

}  // namespace

std::vector<double> name_poor_overlap(const JobGraph& job, const std::vector<Window>& steps,
                                      const AllTransferTimes& times, StepTime& time) {
  HideableTimes hideable(job);
  for (std::uint32_t i = 0; i < job.parts.size(); ++i) {
    const RankMoves moves(job, i);
    for (const Window& step : steps) hideable.add(moves.of_step(step));
  }
  if (hideable.is_overlapped()) return {};
  std::vector<double> left(times.kinds.size(), 1);
  double hidden_ns = 0, most_ns = 0;
  std::size_t heaviest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double ns = std::min(hideable.ns()[i], times.kinds[i].ends_ns);
    if (ns <= 0) continue;
    left[i] = 1 - ns / times.kinds[i].ends_ns;
    hidden_ns += ns;
    if (ns > most_ns) most_ns = ns, heaviest = i;
  }
  if (hidden_ns <= 0) return {};
  const double part = hidden_ns / times.sum_ns();
  if (part * exposed_transfers_ns(time) < 0.01 * least_share_pct(Cause::kPoorOverlap) * time.length_ns) return {};
  LostTime named;
  named.cause = Cause::kPoorOverlap;
  named.of_all = true;
  named.site = transfer_site(job.transfers[heaviest], times.kinds[heaviest], 0);
  take_from_transfers(part, std::move(named), time);
  return left;
}

}  // namespace hostprobe::analysis
