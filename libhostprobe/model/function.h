// function.h: what a called function is to the questions, whatever the source that saw the call.
//
// Room 3. Decoded once per trace from its hook table (timeline.cpp). What it is the row says (format/hook_role.h), not the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "steps/step_token.h"

namespace hostprobe::analysis {

struct Hook;

// A function may have several: a stream synchronise is blocking and a synchronise.
enum Trait : std::uint32_t {
  kLaunches = 1,      // it gives the GPU work
  kWaits = 2,         // a wait of libc
  kSynchronises = 4,  // a wait for the GPU
  kNccl = 8,
  kCollective = 16,  // of NCCL's, those that move data
  kPolls = 32,       // one round of a progress thread
  kMarksStep = 64,
  kBlocks = 128,
  kRunsOnGpu = 256,             // a kernel, copy or fill of an imported profile; see activity.h
  kOfDriver = 1u << 16,         // of the CUDA driver or runtime
  kNamesTime = 512,             // a range of the program's, or of PyTorch's
  kSamplesQueue = 1024,         // a launch that was asked whether its stream was empty
  kMemory = 1u << 17,           // GPU memory is allocated, freed, mapped, or pinned
  kCopies = 1u << 18,           // a copy is put into a stream
  kTellsValue = 1u << 19,       // a number of the program's at one moment
  kCollectsGarbage = 1u << 20,  // Python's collector stood in the way
  kOfOptimizer = 1u << 21,      // a step's mark that torch's optimizer made, not the program
  kSetsMask = 1u << 22,         // it says which CPUs threads may use
};

struct Function {
  std::string name;
  std::uint32_t row = 0;  // in the hook table
  std::uint32_t traits = 0;
  HookRole role = HookRole::kOther;
  bool found = false;                      // the library that has it was there
  const std::string* operation = nullptr;  // of a collective: "AllReduce"
  // Which word of a record is what; -1 = none.
  int site = -1, waker = -1, communicator = -1, elements = -1, call = -1, ranks = -1, empty = -1, work = -1, grid = -1,
      name_word = -1;
  int stream = -1;                                  // of a call of the driver
  int mask = -1, cpus = -1;                         // of one that sets a mask
  int nodes = -1, kernels = -1;                     // of a graph's launch
  int collected = -1, blocks = -1, requested = -1;  // of a collection of garbage
  std::int64_t kernels_of_call = 0;                 // of other launches: how many each runs; < 0: not known
  StepToken step_token = StepToken::kNone;

  bool is(Trait trait) const { return (traits & trait) != 0; }
};

Function function_of(const Hook& hook, std::uint32_t row);

// "ncclAllReduce" and "ncclAllReduceConfig" are both AllReduce; one text per operation, kept for good.
const std::string* operation_name(const std::string& function);
// Sent from one rank to another, so there is nothing to wait for together.
bool is_message(const std::string& operation);

}  // namespace hostprobe::analysis
