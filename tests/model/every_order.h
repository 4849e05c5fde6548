// every_order.h: every order of all steps of a model, each State of which is one in which a SIGKILL may come, so each is
// looked at as `hostprobe dump` would. What is wrong is told with the steps that led there.
//
// A model has State, Setup, Next and first_state, add_next, wrong_with, as hand_over.h and aggregation.h do. States that were met
// before are known by 64 bits of hash: the chance that two of ten million share one is 3 in a million.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

namespace hostprobe::model {

template <class State>
std::uint64_t hash_of(const State& state) {
  unsigned char bytes[sizeof(State) + 8] = {};
  std::memcpy(bytes, &state, sizeof state);
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at < sizeof(State); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

struct Answer {
  std::size_t states = 0;
  std::string wrong;  // "" = nothing
  std::string steps;  // that led there
};

template <class Next>
struct Frame {
  std::vector<Next> next;
  std::size_t taken = 0;
};

template <class Next>
std::string steps_to(const std::vector<Frame<Next>>& path) {
  std::string text;
  for (const Frame<Next>& frame : path) {
    const Next& next = frame.next[frame.taken - 1];
    text += std::string("  ") + next.who + " " + next.what + "\n";
  }
  return text;
}

template <class Next, class Setup>
Answer explore(const Setup& setup) {
  using State = decltype(Next::state);
  Answer answer;
  std::unordered_set<std::uint64_t> met;
  std::vector<Frame<Next>> path;
  const auto visit = [&](const State& state) {
    if (!met.insert(hash_of(state)).second) return true;
    ++answer.states;
    answer.wrong = wrong_with(state, setup);
    if (!answer.wrong.empty()) {
      answer.steps = steps_to(path);
      return false;
    }
    path.emplace_back();
    add_next(state, setup, path.back().next);
    return true;
  };
  visit(first_state(setup));
  while (!path.empty()) {
    Frame<Next>& frame = path.back();
    if (frame.taken == frame.next.size()) {
      path.pop_back();
      continue;
    }
    const State state = frame.next[frame.taken++].state;
    if (!visit(state)) break;
  }
  return answer;
}

}  // namespace hostprobe::model
