// See bootstrap.h.
#include "bootstrap.h"

#include "last_error.h"
#include "socket.h"
#include "thread.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace simnode::nccl {

namespace {

constexpr uint64_t kMagic = 0x73696d6e63636c01;

// What is inside a ncclUniqueId.
struct Meeting {
  uint64_t magic;
  uint64_t nonce;
  uint16_t port;
};
static_assert(sizeof(Meeting) <= sizeof(ncclUniqueId));

struct Hello {
  uint64_t nonce;
  int ranks;
  int cancel;
  Peer peer;
};

struct Answer {
  int result;
  char why[160];
};

struct Guest {
  int fd;
  Hello hello;
};

struct Root {
  int listener;
  uint64_t nonce;
  std::vector<Guest> guests;
};

void refuse_all(Root& root, const char* why) {
  Answer answer{ncclInvalidUsage, {}};
  snprintf(answer.why, sizeof answer.why, "%s", why);
  for (Guest& guest : root.guests) send_all(guest.fd, &answer, sizeof answer);
}

// Returns whether the meeting goes on.
bool admit(Root& root, int fd, const Hello& hello) {
  char why[160] = "";
  if (!root.guests.empty() && root.guests[0].hello.ranks != hello.ranks)
    snprintf(why, sizeof why, "mismatch in rank count: rank %d says %d ranks, rank %d says %d",
             root.guests[0].hello.peer.rank, root.guests[0].hello.ranks, hello.peer.rank, hello.ranks);
  for (Guest& guest : root.guests)
    if (guest.hello.peer.rank == hello.peer.rank)
      snprintf(why, sizeof why, "rank %d of %d has already checked in", hello.peer.rank, hello.ranks);
  root.guests.push_back({fd, hello});
  if (*why == '\0') return true;
  refuse_all(root, why);
  return false;
}

void introduce(Root& root) {
  std::vector<Peer> table(root.guests.size());
  for (Guest& guest : root.guests) table[static_cast<size_t>(guest.hello.peer.rank)] = guest.hello.peer;
  Answer answer{ncclSuccess, {}};
  for (Guest& guest : root.guests) {
    send_all(guest.fd, &answer, sizeof answer);
    send_all(guest.fd, table.data(), table.size() * sizeof(Peer));
  }
}

// A connection that is not one of ours (a port scan), or that says nothing, is dropped.
bool receive_hello(Root& root, int fd, bool* goes_on) {
  Hello hello;
  std::atomic<uint32_t> never{0};
  if (!receive_all(fd, &hello, sizeof hello, never, 10000) || hello.nonce != root.nonce) return false;
  *goes_on = hello.cancel == 0 && admit(root, fd, hello);
  return hello.cancel == 0;
}

// A rank that gave up while it waited makes room for its next try.
void drop_gone(Root& root) {
  std::erase_if(root.guests, [](Guest& guest) {
    char byte;
    if (recv(guest.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return false;
    close(guest.fd);
    return true;
  });
}

void receive_guests(Root& root) {
  bool goes_on = true;
  while (goes_on && (root.guests.empty() || root.guests.size() < static_cast<size_t>(root.guests[0].hello.ranks))) {
    std::vector<pollfd> all{{root.listener, POLLIN, 0}};
    for (Guest& guest : root.guests) all.push_back({guest.fd, POLLIN, 0});
    if (poll(all.data(), all.size(), -1) < 0) continue;
    drop_gone(root);
    if ((all[0].revents & POLLIN) == 0) continue;
    int fd = accept4(root.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0 && !receive_hello(root, fd, &goes_on)) close(fd);
  }
  if (goes_on) introduce(root);
}

void* serve_root(void* argument) __asm__("bootstrapRoot");
void* serve_root(void* argument) {
  std::unique_ptr<Root> root(static_cast<Root*>(argument));
  name_this_thread("NCCL BootstrapR");
  receive_guests(*root);
  close(root->listener);
  for (Guest& guest : root->guests) close(guest.fd);
  return nullptr;
}

Meeting read_id(const ncclUniqueId& id) {
  Meeting meeting;
  memcpy(&meeting, &id, sizeof meeting);
  return meeting;
}

ncclResult_t lost(const std::atomic<uint32_t>& abort, const char* what) {
  if (abort.load() != 0) return fail(ncclInternalError, "aborted while %s", what);
  return fail(ncclRemoteError,
              "connection closed by a remote peer while %s: another rank or the process that made the "
              "unique id has ended",
              what);
}

ncclResult_t introduce_oneself(int fd, const Hello& hello, const std::atomic<uint32_t>& abort,
                               std::vector<Peer>* peers) {
  Answer answer;
  if (!send_all(fd, &hello, sizeof hello)) return lost(abort, "telling the bootstrap root");
  if (!receive_all(fd, &answer, sizeof answer, abort, -1)) return lost(abort, "waiting for the other ranks");
  if (answer.result != ncclSuccess)
    return fail(static_cast<ncclResult_t>(answer.result), "bootstrap root: %.150s", answer.why);
  peers->resize(static_cast<size_t>(hello.ranks));
  if (!receive_all(fd, peers->data(), peers->size() * sizeof(Peer), abort, -1))
    return lost(abort, "reading the table of ranks");
  return ncclSuccess;
}

ncclResult_t join_ring(int listener, const std::vector<Peer>& peers, int rank, const std::atomic<uint32_t>& abort,
                       Ring* ring) {
  const Peer& next = peers[(static_cast<size_t>(rank) + 1) % peers.size()];
  ring->next = connect_to(next.port);
  if (ring->next < 0) return lost(abort, "connecting to the next rank of the ring");
  ring->previous = accept_one(listener, abort);
  if (ring->previous < 0) return lost(abort, "waiting for the previous rank of the ring");
  return ncclSuccess;
}

}  // namespace

ncclResult_t make_unique_id(ncclUniqueId* id) {
  Meeting meeting{kMagic, 0, 0};
  if (getrandom(&meeting.nonce, sizeof meeting.nonce, 0) != sizeof meeting.nonce)
    return fail(ncclSystemError, "no random number for the unique id: %s", strerror(errno));
  int listener = listen_on_loopback(&meeting.port);
  if (listener < 0) return fail(ncclSystemError, "cannot listen on 127.0.0.1: %s", strerror(errno));
  auto* root = new Root{listener, meeting.nonce, {}};
  Thread thread;
  if (!thread.start(serve_root, root)) {
    close(listener);
    delete root;
    return fail(ncclSystemError, "cannot start the bootstrap thread: %s", strerror(errno));
  }
  thread.detach();
  memset(id, 0, sizeof *id);
  memcpy(id, &meeting, sizeof meeting);
  return ncclSuccess;
}

void cancel_unique_id(const ncclUniqueId& id) {
  Meeting meeting = read_id(id);
  int fd = meeting.magic == kMagic ? connect_to(meeting.port) : -1;
  if (fd < 0) return;
  Hello hello{};
  hello.nonce = meeting.nonce;
  hello.cancel = 1;
  send_all(fd, &hello, sizeof hello);
  close(fd);
}

ncclResult_t meet(const ncclUniqueId& id, int ranks, Peer mine, const std::atomic<uint32_t>& abort,
                  std::vector<Peer>* peers, Ring* ring) {
  Meeting meeting = read_id(id);
  if (meeting.magic != kMagic)
    return fail(ncclInvalidArgument, "the unique id was not made by this library's ncclGetUniqueId");
  int listener = listen_on_loopback(&mine.port);
  if (listener < 0) return fail(ncclSystemError, "cannot listen on 127.0.0.1: %s", strerror(errno));
  int fd = connect_to(meeting.port);
  ncclResult_t result = fd < 0 ? lost(abort, "connecting to the bootstrap root") : ncclSuccess;
  if (result == ncclSuccess) result = introduce_oneself(fd, Hello{meeting.nonce, ranks, 0, mine}, abort, peers);
  if (result == ncclSuccess && ranks > 1) result = join_ring(listener, *peers, mine.rank, abort, ring);
  if (fd >= 0) close(fd);
  close(listener);
  return result;
}

}  // namespace simnode::nccl
