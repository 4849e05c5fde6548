// packets.h: the file of Perfetto's own form: packets, one after the other, and the names that they share.
//
// Room 3. A name is written once for a sequence of packets, which are those of one process; later packets have its number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "export/export_form.h"
#include "export/protobuf_message.h"

namespace hostprobe::analysis {

// Fields of TracePacket.
enum PerfettoPacket : std::uint32_t {
  kPacketFtraceEvents = 1,
  kPacketProcessTree = 2,
  kPacketClockSnapshot = 6,
  kPacketTimestamp = 8,
  kPacketSequence = 10,
  kPacketTrackEvent = 11,
  kPacketInterned = 12,
  kPacketSequenceFlags = 13,
  kPacketTrackDescriptor = 60,
};

// Fields of InternedData.
enum PerfettoNames : std::uint32_t { kCategoryNames = 1, kEventNames = 2, kArgumentNames = 3 };

class PerfettoPackets {
 public:
  explicit PerfettoPackets(const Sink& sink) : sink_(sink) {}

  void begin_sequence();
  // For the next packet of this sequence, and no later one.
  std::uint64_t number_of(PerfettoNames kind, std::string_view name);
  void add(ProtobufMessage packet);
  void finish() { flush(); }

 private:
  using Numbers = std::unordered_map<std::string, std::uint64_t>;
  void flush();

  const Sink& sink_;
  std::string buffer_;
  std::uint64_t sequence_ = 0;
  Numbers numbers_[kArgumentNames + 1];
  std::size_t names_ = 0;
  ProtobufMessage fresh_;  // names that no packet has told yet
  bool is_cleared_ = true;
};

}  // namespace hostprobe::analysis
