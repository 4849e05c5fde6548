// unwind_bytes.cpp: see unwind_bytes.h. The variable-length numbers and encoded pointers of DWARF.
#include "probe/stacks/unwind_bytes.h"

namespace hostprobe::probe {

std::uint64_t Bytes::uleb() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    auto byte = next<std::uint8_t>();
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  failed_ = true;
  return 0;
}

std::int64_t Bytes::sleb() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    auto byte = next<std::uint8_t>();
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte >= 0x80) continue;
    if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
    return static_cast<std::int64_t>(value);
  }
  failed_ = true;
  return 0;
}

std::uint64_t Bytes::plain(std::uint8_t format) {
  switch (format) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return next<std::uint64_t>();
    case 0x01:
      return uleb();
    case 0x02:
      return next<std::uint16_t>();
    case 0x03:
      return next<std::uint32_t>();
    case 0x09:
      return static_cast<std::uint64_t>(sleb());
    case 0x0a:
      return static_cast<std::uint64_t>(std::int64_t{next<std::int16_t>()});
    case 0x0b:
      return static_cast<std::uint64_t>(std::int64_t{next<std::int32_t>()});
    default:
      failed_ = true;
      return 0;
  }
}

std::uint64_t Bytes::pointer(std::uint8_t encoding, std::uint64_t base) {
  constexpr std::uint8_t kFormat = 0x0f, kRelation = 0x70, kFromItself = 0x10, kFromBase = 0x30, kIndirect = 0x80;
  if (encoding == kPointerOmitted) return 0;
  std::uint64_t itself = at_;
  std::uint64_t value = plain(encoding & kFormat);
  switch (encoding & kRelation) {
    case 0:
      break;
    case kFromItself:
      value += itself;
      break;
    case kFromBase:
      value += base;
      break;
    default:
      failed_ = true;
  }
  // The word it points to is nothing that a walk needs: only personality routines are reached so.
  return (encoding & kIndirect) != 0 ? 0 : value;
}

}  // namespace hostprobe::probe
