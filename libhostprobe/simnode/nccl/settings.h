// What the environment tells this library: the NCCL_* variables that it honours and the SIMNODE_* ones of the model.
// Read once, at first use. A malformed value is reported in one line and its default used.
#pragma once
#include "node/fault.h"

#include <cstddef>
#include <cstdint>

namespace simnode::nccl {

struct Link {
  double bytes_per_ns;
  int64_t latency_ns;
};

struct Settings {
  bool warn = false;                   // NCCL_DEBUG=WARN, INFO, TRACE
  bool name_threads = false;           // NCCL_SET_THREAD_NAME
  bool std_threads = false;            // SIMNODE_NCCL_THREADS=std: as NCCL 2.29 and later make them
  bool ras = true;                     // NCCL_RAS_ENABLE
  bool ignore_affinity = false;        // NCCL_IGNORE_CPU_AFFINITY
  bool blocking = true;                // NCCL_COMM_BLOCKING
  size_t buffer_bytes = 4 << 20;       // NCCL_BUFFSIZE; a chunk is an eighth, as in NCCL
  size_t p2p_chunk_bytes = 128 << 10;  // NCCL_P2P_NET_CHUNKSIZE
  int version = 0;                     // SIMNODE_NCCL_VERSION: what ncclGetVersion answers
  int hosts = 1;                       // SIMNODE_HOSTS
  Link inside{100, 2000};              // SIMNODE_LINK_GBPS (gigabytes a second), SIMNODE_LINK_US; "A" or "A,B":
  Link between{25, 8000};              // B is the link between hosts, by default four times as slow
  int64_t enqueue_ns = 3000;           // modelled host cost of enqueueing; follows SIMNODE_LAUNCH_US
  int rank = -1;                       // of the job, from the launcher's variables
  int ranks = -1;
  Faults faults{false};  // the driver reports bad parts

  size_t chunk_bytes() const { return buffer_bytes / 8; }
};

const Settings& settings();

// Of the faults of this kind that act on this rank of the job at that moment; see fault.h.
double fault_amount(FaultKind kind, int rank, int64_t at_ns);
double fault_factor(FaultKind kind, int rank, int64_t at_ns);
int64_t fault_end_ns(FaultKind kind, int rank, int64_t at_ns);

}  // namespace simnode::nccl
