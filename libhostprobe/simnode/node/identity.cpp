// See identity.h.
#include "identity.h"

#include <cstdio>
#include <cstring>

namespace simnode {

namespace {

constexpr unsigned kFirstBus = 0x1b;
constexpr unsigned kBusStep = 0x11;

}  // namespace

PciPlace pci_place(int device) {
  unsigned place = kFirstBus + kBusStep * static_cast<unsigned>(device);
  return {place >> 8, place & 0xff};
}

std::string pci_text(int device, int domain_digits) {
  PciPlace place = pci_place(device);
  char text[32];
  snprintf(text, sizeof text, "%0*X:%02X:00.0", domain_digits, place.domain, place.bus);
  return text;
}

void device_uuid(int device, unsigned char uuid[16]) {
  const char prefix[] = "simnode-gpu-";
  memcpy(uuid, prefix, sizeof prefix - 1);
  for (int i = 0; i < 4; ++i) uuid[12 + i] = static_cast<unsigned char>(device >> (8 * (3 - i)));
}

std::string uuid_text(int device) {
  unsigned char uuid[16];
  device_uuid(device, uuid);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", uuid[i]);
    text += digits;
  }
  return text;
}

std::string device_name(int compute_capability) { return "simnode GPU sm_" + std::to_string(compute_capability); }

}  // namespace simnode
