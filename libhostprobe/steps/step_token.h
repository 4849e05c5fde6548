// step_token.h: what a call is to those who look for the pattern that repeats from step to step, and where steps are cut.
//
// Room pure/: worked out the same way by the probe, while the program runs, and by the analysis, afterwards. Memory is the
// caller's; nothing here needs a runtime library. Times are nanoseconds since any one moment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/hook_role.h"

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

// `blocks`: the host waits in it. Polls, sleeps and waits for a descriptor come as time passes, not as steps do.
constexpr StepToken step_token_of(HookRole role, bool blocks) {
  switch (role) {
    case HookRole::kLaunch:
    case HookRole::kLaunchMany:
    case HookRole::kLaunchCallback:
      return StepToken::kLaunch;
    case HookRole::kLaunchGraph:
      return StepToken::kGraph;
    case HookRole::kCollective:
    case HookRole::kMessage:
      return StepToken::kCollective;
    case HookRole::kCopy:
    case HookRole::kFill:
      return blocks ? StepToken::kSync : StepToken::kCopy;
    case HookRole::kCopyToDevice:
      return blocks ? StepToken::kSyncInput : StepToken::kInput;
    case HookRole::kSyncEvent:
      return StepToken::kEventWait;
    case HookRole::kSync:
    case HookRole::kSyncStream:
    case HookRole::kSyncContext:
      return StepToken::kSync;
    case HookRole::kSemaphore:
    case HookRole::kCondition:
    case HookRole::kFutex:
      return StepToken::kWait;
    default:
      return StepToken::kNone;
  }
}

struct Token {
  // What was called with what, all but the shape: (communicator, operation, bytes), kernel, site.
  std::uint64_t work = 0;
  std::uint64_t shape = 0;  // the same with the grid
  StepToken type = StepToken::kNone;
  std::uint64_t bytes = 0;  // of a collective; of a launch its blocks, 0: not known
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

// Of a grid as a record packs it (format/record.h).
constexpr std::uint64_t blocks_of(std::uint64_t grid) {
  return (grid & 0xffffffff) * (grid >> 32 & 0xffff) * (grid >> 48);
}

// Sets work and shape of a token whose type and bytes stand. Without the shape it is half of the work.
constexpr void name_token(const TokenWords& words, bool with_shape, Token& token) {
  switch (token.type) {
    case StepToken::kLaunch:
    case StepToken::kGraph:
      token.work = mixed(words.row, words.work);
      token.shape = with_shape ? mixed(token.work, words.grid) : 0;
      token.bytes = blocks_of(words.grid);
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
  // What ends there without what comes before it may be anything; what begins there may begin the first step.
  constexpr explicit StepCutter(const StepCut& cut) : cut_(cut), is_disarmed_(cut.at_end && cut.arm != cut.cut) {}
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
