// nccl_parts.h: in which operations of NCCL the kernels that a thread launches take part.
//
// Room 3. NCCL launches the kernel of a collective inside the call, or inside the end of its group; so calls of a thread are told in
// the order in which they began, and each launch is asked about.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hostprobe::analysis {

struct Event;

// What an op takes part in, with other ranks.
struct GpuPart {
  std::uint64_t communicator = 0;
  std::uint64_t between = 0;  // of a message both ends
  std::uint32_t number = 0;
  std::int32_t size = 0;   // how many take part
  bool arrives = true;     // others wait for it
  bool waits = true;       // it waits for others
  std::uint32_t kind = 0;  // in GpuWork::kinds: what is moved

  bool is_same(const GpuPart& other) const {
    return communicator == other.communicator && between == other.between && number == other.number;
  }
};

// A message among the parts, for its running number.
struct NcclMessage {
  std::uint32_t part = 0;
  std::uint32_t sequence = 0;
  std::int32_t rank = 0;
  bool sends = false;
};

class NcclParts {
 public:
  explicit NcclParts(std::vector<GpuPart>& parts) : parts_(parts) {}

  void enter_thread();
  // `kind_of`: what a call moves.
  void add(const Event& event, const std::function<std::uint32_t(const Event&)>& kind_of);

  struct Range {
    std::uint32_t first = 0;
    std::uint16_t count = 0;
  };
  // Of what is launched at that moment.
  Range around(double ns) const;
  const std::vector<NcclMessage>& messages() const { return messages_; }

 private:
  void add_part(const Event& event, std::uint32_t kind);

  std::vector<GpuPart>& parts_;
  std::vector<NcclMessage> messages_;
  std::uint32_t group_first_ = 0, group_ = 0;  // of the group that is open; 0: none is
  Range open_;
  double open_until_ns_ = 0;
};

// Messages are numbered by how many went before them the same way.
void number_messages(std::vector<GpuPart>& parts, std::vector<NcclMessage> messages);

}  // namespace hostprobe::analysis
