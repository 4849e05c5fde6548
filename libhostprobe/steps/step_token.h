// step_token.h: what a call is to those who look for the pattern that repeats from step to step, and where steps are cut.
//
// Room pure/: worked out the same way by the probe, while the program runs, and by the analysis, afterwards. Memory is the
// caller's; nothing here needs a runtime library. Times are nanoseconds since any one moment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostprobe {

enum class StepToken : std::uint8_t {
  kNone,
  kLaunch,
  kGraph,  // the launch of one
  kCollective,
  kCopy,       // or fill, that the host does not wait for
  kInput,      // such a copy from the host to the device
  kEventWait,  // for an event of the GPU
  kSync,       // for a stream, the device, or a copy
  kSyncInput,  // for a copy from the host to the device
  kWait,       // for another thread: not made in every step
};

constexpr bool begins_with(const char* text, const char* start) {
  for (; *start != 0; ++text, ++start)
    if (*text != *start) return false;
  return true;
}
constexpr bool contains(const char* text, const char* part) {
  for (; *text != 0; ++text)
    if (begins_with(text, part)) return true;
  return false;
}

// A function, as far as it matters here.
struct CallFacts {
  const char* name = "";
  bool launches = false, collective = false, synchronises = false, waits = false;
  bool never = false;  // a poll, or a step's own mark
};

constexpr StepToken step_token_of(const CallFacts& call) {
  if (call.never) return StepToken::kNone;
  const char* name = call.name;
  if (call.launches) return contains(name, "GraphLaunch") ? StepToken::kGraph : StepToken::kLaunch;
  if (call.collective) return StepToken::kCollective;
  const bool moves = begins_with(name, "cuMemcpy") || begins_with(name, "cuMemset") ||
                     begins_with(name, "cudaMemcpy") || begins_with(name, "cudaMemset");
  const bool feeds = moves && contains(name, "HtoD");
  if (call.synchronises) {
    if (contains(name, "EventSynchronize")) return StepToken::kEventWait;
    if (feeds) return StepToken::kSyncInput;
    return moves || contains(name, "Synchronize") ? StepToken::kSync : StepToken::kNone;
  }
  if (moves) return feeds ? StepToken::kInput : StepToken::kCopy;
  const bool for_thread = begins_with(name, "sem_") || begins_with(name, "pthread_cond_") || begins_with(name, "futex");
  return call.waits && for_thread ? StepToken::kWait : StepToken::kNone;
}

// By ncclDataType_t; 0: not known.
constexpr std::uint64_t bytes_of_type(std::uint64_t type) {
  constexpr std::uint64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type < sizeof kBytes / sizeof *kBytes ? kBytes[type] : 0;
}

struct Token {
  // What was called with what, all but the shape: (communicator, operation, bytes), kernel, site.
  std::uint64_t work = 0;
  std::uint64_t shape = 0;  // the same with the grid
  StepToken type = StepToken::kNone;
  std::uint64_t bytes = 0;  // of a collective
  double begin_ns = 0;
  double end_ns = 0;
};

constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}
constexpr std::uint64_t mixed(std::uint64_t own, std::uint64_t more) {
  return mixed(own + (more + 1) * 0x9e3779b97f4a7c15);
}

// Words of one call; `row` is its function's in the hook table.
struct TokenWords {
  std::uint64_t row = 0, work = 0, grid = 0, communicator = 0, site = 0;
};

// Sets work and shape of a token whose type and bytes stand. Without the shape it is half of the work.
constexpr void name_token(const TokenWords& words, bool with_shape, Token& token) {
  switch (token.type) {
    case StepToken::kLaunch:
    case StepToken::kGraph:
      token.work = mixed(words.row, words.work);
      token.shape = with_shape ? mixed(token.work, words.grid) : 0;
      return;
    case StepToken::kCollective:
      token.work = mixed(mixed(words.row, words.communicator), token.bytes);
      break;
    case StepToken::kSync:
    case StepToken::kSyncInput:
    case StepToken::kEventWait:
    case StepToken::kWait:
      token.work = mixed(words.row, words.site);
      break;
    default:
      token.work = mixed(words.row);
  }
  token.shape = token.work;
}

// Where one step ends and the next begins: at the first `cut` behind each `arm`; both may be the same.
struct StepCut {
  std::uint64_t arm = 0;
  std::uint64_t cut = 0;
  bool at_end = false;      // of the call; else at its begin
  bool with_shape = false;  // both are shapes
  // It ends where the program waits for the GPU, so more of the same cannot show that it is only a part of a step.
  bool is_certain = false;

  constexpr std::uint64_t kind_of(const Token& token) const { return with_shape ? token.shape : token.work; }
};

// Tokens of a thread in order, and where they are cut.
class StepCutter {
 public:
  constexpr StepCutter() = default;
  constexpr explicit StepCutter(const StepCut& cut) : cut_(cut) {}
  // True: a step ends, and the next begins, at `at_ns`.
  constexpr bool ends(const Token& token, double& at_ns) {
    const std::uint64_t kind = cut_.kind_of(token);
    is_disarmed_ = is_disarmed_ && kind != cut_.arm;
    if (is_disarmed_ || kind != cut_.cut) return false;
    is_disarmed_ = true;
    at_ns = cut_.at_end ? token.end_ns : token.begin_ns;
    return true;
  }

 private:
  StepCut cut_;
  bool is_disarmed_ = false;
};

}  // namespace hostprobe
