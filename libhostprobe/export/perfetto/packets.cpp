// packets.cpp: see packets.h.
#include "packets.h"

#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostNames = 1 << 16;  // held for a sequence; then it begins anew
constexpr std::uint32_t kTracePacket = 1;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;  // sequence flags

}  // namespace

void PerfettoPackets::begin_sequence() {
  ++sequence_;
  for (Numbers& kind : numbers_) kind.clear();
  names_ = 0;
  is_cleared_ = true;
}

std::uint64_t PerfettoPackets::number_of(PerfettoNames kind, std::string_view name) {
  Numbers& known = numbers_[kind];
  const auto [found, is_new] = known.try_emplace(std::string(name), known.size() + 1);
  if (!is_new) return found->second;
  ++names_;
  ProtobufMessage entry;
  entry.add(1, found->second);
  entry.add_text(2, printable(name));
  fresh_.add(kind, entry);
  return found->second;
}

void PerfettoPackets::add(ProtobufMessage packet) {
  packet.add(kPacketSequence, sequence_);
  packet.add(kPacketSequenceFlags, is_cleared_ ? kStateCleared | kNeedsState : kNeedsState);
  if (!fresh_.empty()) packet.add(kPacketInterned, fresh_);
  fresh_.clear();
  is_cleared_ = false;
  ProtobufMessage in_file;
  in_file.add(kTracePacket, packet);
  buffer_ += in_file.bytes();
  if (buffer_.size() >= kFlushBytes) flush();
  if (names_ < kMostNames) return;
  for (Numbers& kind : numbers_) kind.clear();
  names_ = 0;
  is_cleared_ = true;
}

void PerfettoPackets::flush() {
  sink_(buffer_);
  buffer_.clear();
}

}  // namespace hostprobe::analysis
