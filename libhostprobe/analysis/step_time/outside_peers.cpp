// outside_peers.cpp: see outside_peers.h.
#include "outside_peers.h"

#include <charconv>

namespace hostprobe::analysis {
namespace {

constexpr std::string_view kFrom = "from ", kProcess = " process ";

// "tcp 10.0.0.2:5000 from 10.0.0.1:41234"; "tcp from 0.0.0.0:80": nobody is at the other end.
struct InternetName {
  std::string_view peer, own;
};

bool is_internet(std::string_view name) { return name.starts_with("tcp ") || name.starts_with("udp "); }

InternetName internet_name(std::string_view name) {
  name.remove_prefix(4);
  const std::size_t at = name.rfind(kFrom);
  if (at == std::string_view::npos) return {name, ""};
  return {at == 0 ? "" : name.substr(0, at - 1), name.substr(at + kFrom.size())};
}

// 0: not known.
std::uint32_t process_at(std::string_view name) {
  const std::size_t at = name.rfind(kProcess);
  std::uint32_t pid = 0;
  if (at != std::string_view::npos) {
    const std::string_view digits = name.substr(at + kProcess.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  }
  return pid;
}

}  // namespace

std::string_view awaited_thing(std::string_view name) {
  if (is_internet(name)) {
    const std::size_t peer = internet_name(name).peer.size();
    return peer == 0 ? name : name.substr(0, 4 + peer);
  }
  return name.starts_with("unix") ? name.substr(0, name.rfind(kProcess)) : name;
}

void OutsidePeers::add_process(const Trace& trace) { pids_.insert(trace.header.pid); }

void OutsidePeers::add_calls(const Trace& trace, const HostCalls& calls, std::uint32_t process) {
  for (const HostThread& thread : calls.threads) {
    if (thread.process != process) continue;
    for (const HostCall& call : thread.calls) {
      if (call.name == 0) continue;
      const std::string_view name = trace.strings.text(call.name);
      if (is_internet(name)) own_.emplace(internet_name(name).own);
    }
  }
}

Peer OutsidePeers::of(std::string_view name) const {
  if (is_internet(name)) {
    const std::string_view peer = internet_name(name).peer;
    return peer.empty() || own_.contains(peer) ? Peer::kOfJob : Peer::kElsewhere;
  }
  if (!name.starts_with("unix")) return Peer::kOfJob;
  const std::uint32_t pid = process_at(name);
  return pid == 0 || pids_.contains(pid) ? Peer::kOfJob : Peer::kBeside;
}

}  // namespace hostprobe::analysis
