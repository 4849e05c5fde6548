// What tells one simulated device from another: place on the PCI bus, uuid, name, NUMA node. Only arithmetic on its
// number, so that the simulated driver and the simulated NVML say the same without talking to each other.
#pragma once
#include <cstdint>
#include <string>

namespace simnode {

constexpr unsigned kPciDeviceId = 0x233010deu;  // device in the upper 16 bits, vendor in the lower
constexpr unsigned kPciSubsystemId = 0x16c110deu;

struct PciPlace {
  unsigned domain, bus;  // device 0, function 0
};

PciPlace pci_place(int device);
// "0000:1B:00.0", with as many digits of the domain as asked.
std::string pci_text(int device, int domain_digits);
void device_uuid(int device, unsigned char uuid[16]);
// "GPU-73696d6e-…", as NVML and nvidia-smi write it.
std::string uuid_text(int device);
std::string device_name(int compute_capability);

}  // namespace simnode
