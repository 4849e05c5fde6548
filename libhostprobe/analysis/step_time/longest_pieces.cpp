// longest_pieces.cpp: see longest_pieces.h.
#include "longest_pieces.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kNamed = 3;
constexpr std::size_t kCandidates = 16;  // more than are named, because some turn out to be named already

bool is_longer(const LongestPiece& l, const LongestPiece& r) { return l.window.length_ns() > r.window.length_ns(); }

bool is_same(const Window& l, const Window& r) { return l.begin_ns == r.begin_ns && l.end_ns == r.end_ns; }

// A batch is made before it is waited for, by the thread that the waiting one names.
const HostThread* thread_of(const LostPart& part) {
  return part.at.length_ns() > 0 && part.spot.holder != nullptr ? part.spot.holder : part.spot.thread;
}

// As long as what was lost: the rest of its window is another cause's.
LongestPiece piece_of(const LostPart& part) {
  const double begin_ns = part.own_window().begin_ns;
  return {{begin_ns, begin_ns + part.ns}, thread_of(part)};
}

struct Candidate {
  LongestPieces::Row row;
  LongestPiece piece;
};

// A process that is stopped is so in whatever thread, or in none that is named.
bool is_one_thread(const Candidate& l, const Candidate& r) {
  if (l.row.second != r.row.second) return false;
  const HostThread *a = l.piece.thread, *b = r.piece.thread;
  return a == b || (l.row == r.row && (a == nullptr || b == nullptr));
}

bool overlap(const Candidate& l, const Candidate& r) {
  return is_one_thread(l, r) && l.piece.window.begin_ns < r.piece.window.end_ns &&
         r.piece.window.begin_ns < l.piece.window.end_ns;
}

}  // namespace

void LongestPieces::add(const Row& row, const LongestPiece& piece) {
  std::vector<LongestPiece>& own = candidates_[row];
  if (own.size() == kCandidates && !is_longer(piece, own.back())) return;
  own.insert(std::upper_bound(own.begin(), own.end(), piece, is_longer), piece);
  if (own.size() > kCandidates) own.pop_back();
}

void LongestPieces::add_stretch(std::span<const LostPart> parts) {
  const LostPart& first = parts.front();
  if (parts.size() == 1) {  // nearly all
    if (!first.is_repeated) add({first.cause, first.member}, piece_of(first));
    return;
  }
  std::map<Row, double> ns;
  for (const LostPart& part : parts) ns[{part.cause, part.member}] += part.ns;
  const auto most =
      std::max_element(ns.begin(), ns.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
  const auto own = std::find_if(parts.begin(), parts.end(), [&](const LostPart& part) {
    return !part.is_repeated && Row{part.cause, part.member} == most->first;
  });
  if (own != parts.end()) add(most->first, piece_of(*own));
}

// Parts of one stretch were added one after another.
void LongestPieces::add(std::span<const LostPart> parts) {
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    while (end < parts.size() && is_same(parts[end].stretch(), parts[begin].stretch())) ++end;
    add_stretch(parts.subspan(begin, end - begin));
  }
}

std::map<LongestPieces::Row, std::vector<LongestPiece>> LongestPieces::finish() const {
  std::vector<Candidate> all, named;
  for (const auto& [row, pieces] : candidates_)
    for (const LongestPiece& piece : pieces) all.push_back({row, piece});
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& l, const Candidate& r) { return is_longer(l.piece, r.piece); });
  std::map<Row, std::vector<LongestPiece>> longest;
  for (const Candidate& one : all) {
    std::vector<LongestPiece>& own = longest[one.row];
    const auto is_taken = [&one](const Candidate& other) { return overlap(one, other); };
    if (own.size() == kNamed || std::any_of(named.begin(), named.end(), is_taken)) continue;
    own.push_back(one.piece);
    named.push_back(one);
  }
  return longest;
}

}  // namespace hostprobe::analysis
