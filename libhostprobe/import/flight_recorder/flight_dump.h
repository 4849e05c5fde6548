// flight_dump.h: what one dump of PyTorch's Flight Recorder says: the last collectives of a rank, in their order.
//
// Room 3. Of the pickle that torch.distributed dumps (`nccl_trace_rank_3`), and of its form in JSON, which lacks the stacks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "import/input/plain_value.h"

namespace hostprobe::analysis {

struct FlightOperation {
  std::string group;        // its name, which all ranks in it know it by
  std::string description;  // "default_pg", "TENSOR_PARALLEL"
  std::string name;         // "nccl:all_reduce"
  std::uint32_t sequence = 0;
  bool is_message = false;
  std::int64_t begin_ns = 0;                 // CLOCK_REALTIME, when the program asked for it
  std::optional<std::int64_t> completed_ns;  // when PyTorch saw that it was complete
  bool is_over = false;                      // it is complete, or nobody waits for it any more
  std::uint64_t elements = 0;
  std::string type;                 // of its elements
  std::vector<std::string> frames;  // the innermost first
  std::string thread, thread_name;
};

struct FlightDump {
  std::vector<FlightOperation> operations;
  std::map<std::string, std::vector<int>> group_ranks;  // ranks of the job, by the group's name
};

// What of `root` is a dump. Throws nothing: entries that lack what is needed are counted.
FlightDump flight_dump(const PlainValue& root, LeftOut& left_out);

// It has the list of entries by which a dump is known.
bool is_flight_dump(const PlainValue* root);

}  // namespace hostprobe::analysis
