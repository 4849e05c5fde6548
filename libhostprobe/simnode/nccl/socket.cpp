// See socket.h; the UNIX part is declared in bootstrap.h.
#include "socket.h"

#include "bootstrap.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace simnode::nccl {

namespace {

constexpr int kLookMs = 50;  // how often a blocked call looks at the abort flag

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// True when readable (or closed by the other side).
bool wait_readable(int fd, const std::atomic<uint32_t>& abort, int* left_ms) {
  while (abort.load(std::memory_order_relaxed) == 0 && *left_ms != 0) {
    pollfd one{fd, POLLIN, 0};
    if (poll(&one, 1, kLookMs) > 0) return true;
    if (*left_ms > 0) *left_ms = *left_ms > kLookMs ? *left_ms - kLookMs : 0;
  }
  return false;
}

// Abstract: the name is gone with the socket, and no file system is involved.
socklen_t door_address(const char* door, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  size_t length = strlen(door);
  memcpy(address->sun_path + 1, door, length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

struct DescriptorMessage {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  DescriptorMessage() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

}  // namespace

int listen_on_loopback(uint16_t* port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1024) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    *port = ntohs(address.sin_port);
    return fd;
  }
  close(fd);
  return -1;
}

int connect_to(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in address = loopback(port);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

int accept_one(int listener, const std::atomic<uint32_t>& abort) {
  int left_ms = -1;
  if (!wait_readable(listener, abort, &left_ms)) return -1;
  return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
}

bool send_all(int fd, const void* bytes, size_t count) {
  auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    ssize_t sent = send(fd, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, void* bytes, size_t count, const std::atomic<uint32_t>& abort, int timeout_ms) {
  auto* at = static_cast<char*>(bytes);
  int left_ms = timeout_ms;
  while (count > 0) {
    if (!wait_readable(fd, abort, &left_ms)) return false;
    ssize_t received = recv(fd, at, count, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received;
    count -= static_cast<size_t>(received);
  }
  return true;
}

int listen_at(const char* door) {
  sockaddr_un address;
  socklen_t length = door_address(door, &address);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(fd, 1024) == 0) return fd;
  close(fd);
  return -1;
}

bool send_descriptor(int connection, int fd) {
  DescriptorMessage out;
  cmsghdr* header = CMSG_FIRSTHDR(&out.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(connection, &out.message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(const char* door) {
  sockaddr_un address;
  socklen_t length = door_address(door, &address);
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  int fd = -1;
  DescriptorMessage in;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      recvmsg(connection, &in.message, MSG_CMSG_CLOEXEC) == 1) {
    cmsghdr* header = CMSG_FIRSTHDR(&in.message);
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(header), sizeof fd);
  }
  close(connection);
  return fd;
}

}  // namespace simnode::nccl
