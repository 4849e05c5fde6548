// passed_file.cpp: see passed_file.h. Cold. The socket has a name that the kernel chooses (abstract, so no file system is
// asked); what comes in is looked at, because anybody may send there.
#include "probe/writer/file/passed_file.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>

#include "probe/runtime/at_start.h"
#include "probe/runtime/futex.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kCloseRangeUnshare = 2;  // CLOSE_RANGE_UNSHARE, Linux 5.9
constexpr int kNone = -1, kBeingCopied = -2;
HP_KEPT_BY_CHILDREN std::atomic<int> g_parked{kNone};  // futex

HP_KEPT_BY_CHILDREN sockaddr_un g_address{};
HP_OF_PROCESS socklen_t g_address_bytes = 0;  // 0: nobody waits for the file

// One byte, and room for one descriptor.
struct Parcel {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  Parcel() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

// By system calls: a program may have a socket() of its own.
int make_socket() { return static_cast<int>(system_call(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC)); }

// In the table of a writer that has just copied the program's, and with it `fd`.
void keep_only(int fd) {
  if (fd > 0) syscall(SYS_close_range, 0u, static_cast<unsigned>(fd) - 1, 0u);
  if (is_trace_file(fd))
    g_file.fd = fd;
  else
    close(fd);
}

}  // namespace

FileReceiver::FileReceiver(bool is_needed) : socket_(is_needed ? make_socket() : -1) {
  if (socket_ < 0) return;
  sockaddr_un any{};
  any.sun_family = AF_UNIX;
  socklen_t bytes = sizeof g_address;
  if (system_call(SYS_bind, socket_, word_of_pointer(&any), sizeof any.sun_family) == 0 &&
      system_call(SYS_getsockname, socket_, word_of_pointer(&g_address), word_of_pointer(&bytes)) == 0)
    g_address_bytes = bytes;
}

FileReceiver::~FileReceiver() {
  g_address_bytes = 0;
  if (socket_ >= 0) close(socket_);
}

int FileReceiver::take() {
  constexpr int kMostStrangers = 16;
  for (int i = 0; socket_ >= 0 && i < kMostStrangers; ++i) {
    Parcel parcel;
    if (system_call(SYS_recvmsg, socket_, word_of_pointer(&parcel.message), MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) break;
    const cmsghdr* head = CMSG_FIRSTHDR(&parcel.message);
    if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    memcpy(&fd, CMSG_DATA(head), sizeof fd);
    if (is_trace_file(fd)) return fd;
    close(fd);
  }
  return -1;
}

void pass_file_on() {
  if (g_address_bytes == 0 || g_file.fd < 0) return;
  const int from = make_socket();
  if (from < 0) return;
  Parcel parcel;
  parcel.message.msg_name = &g_address;
  parcel.message.msg_namelen = g_address_bytes;
  cmsghdr* head = CMSG_FIRSTHDR(&parcel.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = g_file.fd;
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  system_call(SYS_sendmsg, from, word_of_pointer(&parcel.message), MSG_DONTWAIT | MSG_NOSIGNAL);
  close(from);
}

void park_file(int fd) {
  int none = kNone;
  if (fd >= 0 && !g_parked.compare_exchange_strong(none, fd, std::memory_order_acq_rel)) close(fd);
}

int parked_file() { return g_parked.load(std::memory_order_acquire); }

bool take_parked_file() {
  int fd = g_parked.load(std::memory_order_acquire);
  if (fd < 0 || !g_parked.compare_exchange_strong(fd, kNone, std::memory_order_acq_rel) || !is_trace_file(fd))
    return false;
  g_file.fd = fd;
  return true;
}

void close_parked_file() {
  const int fd = g_parked.exchange(kNone, std::memory_order_acq_rel);
  if (fd >= 0 && is_trace_file(fd)) close(fd);
}

bool have_own_descriptors(int fd) {
  if (fd < 0 || !g_parked.compare_exchange_strong(fd, kBeingCopied, std::memory_order_acq_rel))
    return syscall(SYS_close_range, 0u, ~0u, kCloseRangeUnshare) == 0;
  // The numbers above it are not even copied; those below go once nobody waits for that any more.
  const bool copied = syscall(SYS_close_range, static_cast<unsigned>(fd) + 1, ~0u, kCloseRangeUnshare) == 0;
  g_parked.store(kNone, std::memory_order_release);
  futex_wake(g_parked);
  if (copied) keep_only(fd);
  return copied;
}

void await_copy(int fd) {
  constexpr int kMostLooks = 50;
  constexpr long kLookNs = 20000000;
  if (fd < 0) return;
  for (int looks = 0, now; (now = g_parked.load(std::memory_order_acquire)) == fd || now == kBeingCopied; ++looks) {
    if (now == fd && looks >= kMostLooks) return close_parked_file();
    futex_wait(g_parked, now, kLookNs);
  }
  if (is_trace_file(fd)) close(fd);
}

}  // namespace hostprobe::probe
