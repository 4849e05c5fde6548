// See service.h.
#include "service.h"

#include "bootstrap.h"
#include "communicator.h"
#include "settings.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>

namespace simnode::nccl {

namespace {

constexpr int kIdleMs = 500;
constexpr int kRasMs = 1000;
constexpr int kBusyRounds = 100;  // polls without waiting while something is wanted, as NCCL with operations pending

void raise(int event_fd) {
  uint64_t one = 1;
  if (write(event_fd, &one, sizeof one) < 0) return;
}

void take(int event_fd) {
  uint64_t value;
  if (read(event_fd, &value, sizeof value) < 0) return;
}

bool same_user(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

// Whether the neighbour's socket has closed. Nothing is ever sent over the ring after the bootstrap.
bool closed(const pollfd& one) {
  if (one.revents == 0) return false;
  char byte;
  return recv(one.fd, &byte, 1, MSG_DONTWAIT) <= 0 && errno != EAGAIN;
}

void* run_ras(void* argument) __asm__("rasThreadMain");
void* run_ras(void* argument) {
  name_this_thread("NCCL RAS");
  pollfd quiet{static_cast<int>(reinterpret_cast<intptr_t>(argument)), POLLIN, 0};
  for (;;) poll(&quiet, 1, kRasMs);
}

}  // namespace

bool Service::open_door(const char* door) {
  door_fd_ = listen_at(door);
  door_poke_fd_ = eventfd(0, EFD_CLOEXEC);
  return door_fd_ >= 0 && door_poke_fd_ >= 0 && door_.start(run_door, this);
}

bool Service::start() {
  poke_fd_ = eventfd(0, EFD_CLOEXEC);
  return poke_fd_ >= 0 && service_.start(run_service, this);
}

void Service::poke() {
  if (poke_fd_ >= 0) raise(poke_fd_);
  if (door_poke_fd_ >= 0) raise(door_poke_fd_);
}

bool Service::start_progress() {
  progress_point_.lock();
  progress_wanted_ = true;
  poke();
  while (!progress_tried_) progress_point_.wait();
  progress_point_.unlock();
  return communicator_.progress_running();
}

void Service::stop() {
  stopping_.store(true);
  poke();
  service_.join();
  door_.join();
  for (int* fd : {&door_fd_, &poke_fd_, &door_poke_fd_}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

void* Service::run_service(void* self) {
  auto* service = static_cast<Service*>(self);
  name_this_thread("NCCL Service %2d", service->communicator_.device());
  service->watch();
  return nullptr;
}

void Service::watch() {
  pollfd all[3] = {
      {poke_fd_, POLLIN, 0}, {communicator_.ring().next, POLLIN, 0}, {communicator_.ring().previous, POLLIN, 0}};
  int busy_rounds = 0;
  while (!stopping_.load()) {
    poll(all, 3, busy_rounds > 0 ? 0 : kIdleMs);
    if (busy_rounds > 0) --busy_rounds;
    if ((all[0].revents & POLLIN) != 0) {
      take(poke_fd_);
      busy_rounds = kBusyRounds;
    }
    for (int i = 1; i < 3; ++i) {
      if (all[i].fd < 0 || !closed(all[i])) continue;
      all[i].fd = -1;
      communicator_.neighbour_gone(i == 1 ? 1 : -1);
    }
    progress_point_.lock();
    if (progress_wanted_ && !progress_tried_) {
      communicator_.run_progress();
      progress_tried_ = true;
      progress_point_.signal();
    }
    progress_point_.unlock();
  }
}

void* Service::run_door(void* self) {
  auto* service = static_cast<Service*>(self);
  name_this_thread("NCCL UDS Service %2d", service->communicator_.device());
  service->attend();
  return nullptr;
}

void Service::attend() {
  pollfd all[2] = {{door_fd_, POLLIN, 0}, {door_poke_fd_, POLLIN, 0}};
  while (!stopping_.load()) {
    if (poll(all, 2, kIdleMs) <= 0) continue;
    if ((all[1].revents & POLLIN) != 0) take(door_poke_fd_);
    if ((all[0].revents & POLLIN) == 0) continue;
    int connection = accept4(door_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (same_user(connection)) send_descriptor(connection, communicator_.segment().fd());
    close(connection);
  }
}

void start_ras() {
  static const bool started = [] {
    int fd = eventfd(0, EFD_CLOEXEC);
    Thread thread;
    bool good = fd >= 0 && thread.start(run_ras, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
    thread.detach();
    return good;
  }();
  (void)started;
}

}  // namespace simnode::nccl
