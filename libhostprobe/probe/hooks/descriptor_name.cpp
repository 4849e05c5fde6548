// descriptor_name.cpp: see descriptor_name.h.
#include "probe/hooks/descriptor_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>

#include "probe/record/hook.h"
#include "probe/record/limits.h"
#include "probe/record/strings.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"

namespace hostprobe::probe {
namespace {

// Clients come from ever other ports, and texts are never given back.
constexpr std::uint32_t kMostNames = 1024;
constexpr std::size_t kNameBytes = 512;

// Of a descriptor's last number: what it stood for, and that thing's name in the low 16 bits. One word, so that no lock is needed.
constexpr unsigned kSlots = 256;
HP_OF_RECORDING constinit std::atomic<std::uint64_t> g_slots[kSlots]{};
HP_OF_RECORDING constinit std::atomic<std::uint32_t> g_names{0};

std::uint64_t key_of(int descriptor, const struct stat& status) {
  std::uint64_t key = static_cast<std::uint64_t>(status.st_ino) * 0x9e3779b97f4a7c15u;
  key ^=
      (static_cast<std::uint64_t>(status.st_dev) << 32 | static_cast<std::uint32_t>(descriptor)) * 0xc2b2ae3d27d4eb4fu;
  return key << 16;
}

struct Text {
  char bytes[kNameBytes];
  std::size_t length = 0;

  template <typename... Values>
  void add(const char* format, Values... values) {
    const int wanted = snprintf(bytes + length, sizeof bytes - length, format, values...);
    if (wanted > 0) length = length + wanted < sizeof bytes ? length + wanted : sizeof bytes - 1;
  }
};

// False: it is of a family that has no such names.
bool add_address(Text& text, const sockaddr_storage& address) {
  char host[INET6_ADDRSTRLEN];
  if (address.ss_family == AF_INET) {
    auto& four = reinterpret_cast<const sockaddr_in&>(address);
    if (inet_ntop(AF_INET, &four.sin_addr, host, sizeof host) == nullptr) return false;
    text.add("%s:%u", host, static_cast<unsigned>(ntohs(four.sin_port)));
    return true;
  }
  if (address.ss_family != AF_INET6) return false;
  auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  if (inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host) == nullptr) return false;
  text.add("[%s]:%u", host, static_cast<unsigned>(ntohs(six.sin6_port)));
  return true;
}

// Both ends, since the other end's process may be recorded as well and is found by them.
bool name_internet(Text& text, int descriptor, const sockaddr_storage& own) {
  int type = 0;
  socklen_t bytes = sizeof type;
  getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes);
  text.add("%s", type == SOCK_STREAM ? "tcp " : "udp ");
  sockaddr_storage peer{};
  bytes = sizeof peer;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 && add_address(text, peer))
    text.add(" ");
  text.add("from ");
  return add_address(text, own);
}

// A path is at the end that was bound to one: at the other end's, if it is the server. '\0' begins a name without a file.
bool add_path(Text& text, const sockaddr_un& address, socklen_t bytes) {
  constexpr socklen_t kBegin = offsetof(sockaddr_un, sun_path);
  if (bytes <= kBegin) return false;
  const bool is_abstract = address.sun_path[0] == 0;
  const auto length = static_cast<int>(strnlen(address.sun_path + is_abstract, bytes - kBegin - is_abstract));
  if (length > 0) text.add(" %s%.*s", is_abstract ? "@" : "", length, address.sun_path + is_abstract);
  return length > 0;
}

bool name_local(Text& text, int descriptor) {
  text.add("unix");
  sockaddr_un address{};
  socklen_t bytes = sizeof address;
  const bool has_peer = getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
  if (!has_peer || !add_path(text, address, bytes)) {
    bytes = sizeof address;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0) add_path(text, address, bytes);
  }
  ucred peer{};
  bytes = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0)
    text.add(" process %d", static_cast<int>(peer.pid));
  return true;
}

bool name_socket(Text& text, int descriptor) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &bytes) != 0) return false;
  return own.ss_family == AF_UNIX ? name_local(text, descriptor) : name_internet(text, descriptor, own);
}

// As the kernel says it: also what has no path, and what was deleted meanwhile.
bool name_other(Text& text, int descriptor) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, text.bytes, sizeof text.bytes);
  text.length = length > 0 ? static_cast<std::size_t>(length) : 0;
  return length > 0;
}

std::uint32_t asked_name(int descriptor, const struct stat& status) {
  if (g_names.load(std::memory_order_relaxed) >= kMostNames) return 0;
  Text text;
  const bool named = S_ISSOCK(status.st_mode) ? name_socket(text, descriptor) : name_other(text, descriptor);
  if (!named) return 0;
  g_names.fetch_add(1, std::memory_order_relaxed);
  return string_id(text.bytes, text.length);
}

}  // namespace

std::uint32_t descriptor_name(int descriptor, std::uint64_t waited_ticks) {
  if (waited_ticks < g_limits.short_stack_ticks || descriptor < 0 || g_options.redact || !trace_is_open()) return 0;
  struct stat status;
  if (fstat(descriptor, &status) != 0) return 0;
  const std::uint64_t key = key_of(descriptor, status);
  std::atomic<std::uint64_t>& slot = g_slots[static_cast<unsigned>(descriptor) % kSlots];
  const std::uint64_t known = slot.load(std::memory_order_relaxed);
  if ((known ^ key) >> 16 == 0 && known != 0) return static_cast<std::uint32_t>(known & 0xffff);
  const std::uint32_t name = asked_name(descriptor, status);
  slot.store(key | name, std::memory_order_relaxed);
  return name;
}

}  // namespace hostprobe::probe
