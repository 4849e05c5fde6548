// protobuf_message.h: one message in the wire format of Protocol Buffers.
//
// Room 3. A field is a key (number and how it is written) and its value:
//
//   add(8, 300)          40 | ac 02              varint: seven bits a byte, the lowest first
//   add_fixed(47, 1)     f9 02 | 01 00 … 00      eight bytes, the lowest first
//   add_text(2, "ab")    12 | 02 | 61 62         length, bytes; messages inside the same way
//
// Why not the library: decisions/0033-perfetto.md.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace hostprobe::analysis {

class ProtobufMessage {
 public:
  // Negative numbers as the type of the field wants them: of 64 bits.
  void add(std::uint32_t field, std::uint64_t value) {
    add_key(field, 0);
    add_varint(value);
  }
  void add_fixed(std::uint32_t field, std::uint64_t value) {
    add_key(field, 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift);
  }
  void add_double(std::uint32_t field, double value) { add_fixed(field, std::bit_cast<std::uint64_t>(value)); }
  void add_text(std::uint32_t field, std::string_view text) {
    add_key(field, 2);
    add_varint(text.size());
    bytes_ += text;
  }
  void add(std::uint32_t field, const ProtobufMessage& inner) { add_text(field, inner.bytes_); }

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  void add_key(std::uint32_t field, std::uint32_t type) { add_varint(std::uint64_t{field} << 3 | type); }
  void add_varint(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace hostprobe::analysis
