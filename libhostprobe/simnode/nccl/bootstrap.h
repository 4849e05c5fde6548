// How ranks meet: the unique id names a listening loopback socket in the process that made it. Every rank tells it who it
// is; when all have come, each gets the table of all and makes its place in a ring of sockets. The ring stays open for the
// communicator's life: a rank that dies is noticed by its neighbours because its sockets close.
#pragma once
#include "nccl_types.h"

#include <atomic>
#include <vector>

namespace simnode::nccl {

struct Peer {
  int rank, pid, world_rank, host, device;
  uint16_t port;  // where it listens for the rank before it
  char pci_id[16];
  char door[64];  // abstract UNIX socket of its "NCCL UDS Service", which hands out the segment
};

struct Ring {
  int next = -1, previous = -1;
};

ncclResult_t make_unique_id(ncclUniqueId* id);

// Tells the id's owner that nobody will come. For the ids of ncclCommInitRankScalable that are not needed.
void cancel_unique_id(const ncclUniqueId& id);

// Blocks until all `ranks` ranks have come, the id's owner is gone, or `abort` is set.
ncclResult_t meet(const ncclUniqueId& id, int ranks, Peer mine, const std::atomic<uint32_t>& abort,
                  std::vector<Peer>* peers, Ring* ring);

// A listening abstract UNIX socket under that name, and the descriptor that somebody else's hands out.
int listen_at(const char* door);
bool send_descriptor(int connection, int fd);
int receive_descriptor(const char* door);

}  // namespace simnode::nccl
