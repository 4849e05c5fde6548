// Loopback sockets with an eye on an abort flag, and descriptors over UNIX sockets.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace simnode::nccl {

int listen_on_loopback(uint16_t* port);
int connect_to(uint16_t port);                                     // -1: nobody listens
int accept_one(int listener, const std::atomic<uint32_t>& abort);  // -1: aborted
bool send_all(int fd, const void* bytes, size_t count);
// False when the other side has closed, `abort` was set or the time is up (-1: none).
bool receive_all(int fd, void* bytes, size_t count, const std::atomic<uint32_t>& abort, int timeout_ms);

}  // namespace simnode::nccl
