// descriptor_name.cpp: see descriptor_name.h.
#include "probe/hooks/descriptor_name.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>

#include "probe/record/hook.h"
#include "probe/record/limits.h"
#include "probe/record/strings.h"
#include "probe/runtime/at_start.h"
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
    note(snprintf(bytes + length, sizeof bytes - length, format, values...));
  }
  void add(const char* text) { note(snprintf(bytes + length, sizeof bytes - length, "%s", text)); }

 private:
  void note(int wanted) {
    if (wanted > 0) length = length + wanted < sizeof bytes ? length + wanted : sizeof bytes - 1;
  }
};

// Asked by system calls: each function of libc more is a relocation in a page that every start writes (layout.ld).
bool ask_address(long call, int descriptor, sockaddr_storage& address, unsigned& bytes) {
  address = {};
  bytes = sizeof address;
  return system_call(call, descriptor, word_of_pointer(&address), word_of_pointer(&bytes)) == 0;
}
bool ask_option(int descriptor, int option, void* value, unsigned bytes) {
  return system_call_of_six(SYS_getsockopt, descriptor, SOL_SOCKET, option, word_of_pointer(value),
                            word_of_pointer(&bytes), 0) == 0;
}

unsigned in_host_order(std::uint16_t word) { return static_cast<unsigned>(__builtin_bswap16(word)); }

// False: it is of a family that has no such names.
bool add_address(Text& text, const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    auto& four = reinterpret_cast<const sockaddr_in&>(address);
    auto* byte = reinterpret_cast<const unsigned char*>(&four.sin_addr);
    text.add("%u.%u.%u.%u:%u", byte[0] + 0u, byte[1] + 0u, byte[2] + 0u, byte[3] + 0u, in_host_order(four.sin_port));
    return true;
  }
  if (address.ss_family != AF_INET6) return false;
  auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  const std::uint16_t* word = six.sin6_addr.s6_addr16;
  text.add("[");
  for (int i = 0; i < 8; ++i) text.add(i == 0 ? "%x" : ":%x", in_host_order(word[i]));
  text.add("]:%u", in_host_order(six.sin6_port));
  return true;
}

// Both ends, since the other end's process may be recorded as well and is found by them.
bool name_internet(Text& text, int descriptor, const sockaddr_storage& own) {
  int type = 0;
  ask_option(descriptor, SO_TYPE, &type, sizeof type);
  text.add("%s", type == SOCK_STREAM ? "tcp " : "udp ");
  sockaddr_storage peer;
  unsigned bytes;
  if (ask_address(SYS_getpeername, descriptor, peer, bytes) && add_address(text, peer)) text.add(" ");
  text.add("from ");
  return add_address(text, own);
}

// A path is at the end that was bound to one: at the other end's, if it is the server. '\0' begins a name without a file.
bool add_path(Text& text, const sockaddr_storage& address, unsigned bytes) {
  constexpr unsigned kBegin = offsetof(sockaddr_un, sun_path);
  auto& local = reinterpret_cast<const sockaddr_un&>(address);
  if (bytes <= kBegin) return false;
  const bool is_abstract = local.sun_path[0] == 0;
  // What is not ended is as long as it is said to be; "%.*s" ends at a zero before.
  const int most = static_cast<int>(bytes - kBegin) - is_abstract;
  if (most <= 0 || local.sun_path[is_abstract] == 0) return false;
  text.add(" %s%.*s", is_abstract ? "@" : "", most, local.sun_path + is_abstract);
  return true;
}

bool name_local(Text& text, int descriptor) {
  text.add("unix");
  sockaddr_storage address;
  unsigned bytes;
  const bool has_peer = ask_address(SYS_getpeername, descriptor, address, bytes) && add_path(text, address, bytes);
  if (!has_peer && ask_address(SYS_getsockname, descriptor, address, bytes)) add_path(text, address, bytes);
  ucred peer{};
  if (ask_option(descriptor, SO_PEERCRED, &peer, sizeof peer) && peer.pid > 0)
    text.add(" process %d", static_cast<int>(peer.pid));
  return true;
}

bool name_socket(Text& text, int descriptor) {
  sockaddr_storage own;
  unsigned bytes;
  if (!ask_address(SYS_getsockname, descriptor, own, bytes)) return false;
  return own.ss_family == AF_UNIX ? name_local(text, descriptor) : name_internet(text, descriptor, own);
}

// As the kernel says it: also what has no path, and what was deleted meanwhile.
bool name_other(Text& text, int descriptor) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const long length = read_link(link, text.bytes, sizeof text.bytes);
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
