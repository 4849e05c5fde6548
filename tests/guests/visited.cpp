// visited WHAT: a program that somebody looks at from outside while it does one thing, and that notices when it was harmed.
//   busy     two threads count in a loop until stdin ends
//   epoll    waits in epoll_wait, without and with a limit; EINTR is a failure
//   limited  two threads that each wait for nothing until a limit has passed, in epoll_wait and for a socket; ends by itself
//   threads  100 threads at a time that come and go, until stdin ends
//   leaves   ends by itself after some milliseconds, again and again with other threads
// Prints "ready", and at the end "whole".
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

bool asked_to_end() {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, 0) != 0;
}

int ready() {
  std::puts("ready");
  return std::fflush(stdout);
}

void busy() {
  std::atomic<bool> ends{false};
  std::atomic<unsigned long> count{0};
  std::thread other([&] {
    while (!ends) ++count;
  });
  ready();
  while (!asked_to_end()) ++count;
  ends = true;
  other.join();
}

int wait_once(int epoll, int limit_ms) {
  epoll_event event;
  const int found = epoll_wait(epoll, &event, 1, limit_ms);
  if (found < 0) std::printf("epoll_wait failed: %s\n", std::strerror(errno));
  return found;
}

int epolls() {
  const int epoll = epoll_create1(0);
  epoll_event event{EPOLLIN, {}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event) != 0) return 1;
  std::atomic<int> result{0};
  std::thread limited([&] {
    const int nothing = epoll_create1(0);
    while (result == 0 && !asked_to_end())
      if (wait_once(nothing, 50) < 0) result = 1;
  });
  ready();
  if (wait_once(epoll, -1) < 0) result = 1;
  limited.join();
  return result;
}

constexpr int kLimitS = 3;

void wait_for_nothing() {
  if (wait_once(epoll_create1(0), 1000 * kLimitS) != 0) std::puts("epoll_wait did not end by its limit");
}

void receive_nothing() {
  int ends[2];
  const timeval limit{kLimitS, 0};
  char byte;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (recv(ends[0], &byte, 1, 0) >= 0 || errno != EAGAIN) std::puts("recv did not end by its limit");
}

void limited() {
  std::thread waits(wait_for_nothing), receives(receive_nothing);
  ready();
  waits.join();
  receives.join();
}

void threads() {
  ready();
  while (!asked_to_end()) {
    std::vector<std::thread> some;
    for (int i = 0; i < 100; ++i) some.emplace_back([] { usleep(1000); });
    for (std::thread& thread : some) thread.join();
  }
}

void leaves() {
  ready();
  std::thread([] { usleep(5000); }).join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  int result = 0;
  if (what == "busy") busy();
  if (what == "epoll") result = epolls();
  if (what == "limited") limited();
  if (what == "threads") threads();
  if (what == "leaves") leaves();
  if (result == 0) std::puts("whole");
  return result;
}
