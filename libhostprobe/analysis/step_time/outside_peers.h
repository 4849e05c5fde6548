// outside_peers.h: whether a socket's other end is somebody who is not recorded: no process of the job that is looked at.
//
// Room 3. By the names that the probe gives descriptors, hooks/descriptor_name.h: two processes are connected where the own address
// of the one is the peer of the other. Ports may be the same on two hosts, so a process that might be meant counts as one of the job.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "model/host_calls.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// The part of a descriptor's name that says whom or what it leads to: "tcp 10.0.0.2:5000", "unix /run/x.sock", a file's path.
std::string_view awaited_thing(std::string_view name);

// kBeside: on this machine, kElsewhere: behind an address.
enum class Peer : std::uint8_t { kOfJob, kBeside, kElsewhere };

class OutsidePeers {
 public:
  void add_process(const Trace& trace);
  // The descriptors that its threads waited for.
  void add_calls(const Trace& trace, const HostCalls& calls, std::uint32_t process);
  // Of the job is also what is no socket, or has no other end.
  Peer of(std::string_view name) const;

 private:
  std::set<std::string, std::less<>> own_;  // addresses
  std::set<std::uint32_t> pids_;
};

}  // namespace hostprobe::analysis
