// waits_for_names: waits for descriptors of which each stands for something that has a name, and notes what that is called.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <thread>

#include "victim.h"

namespace {

constexpr auto kLong = std::chrono::milliseconds(3);

pid_t g_writer = 0;  // the last one that wrote a byte

// Somebody else writes a byte, `kLong` from now.
std::thread later(int descriptor) {
  return std::thread([descriptor] {
    g_writer = gettid();
    std::this_thread::sleep_for(kLong);
    const std::uint64_t one = 1;
    if (write(descriptor, &one, sizeof one) < 0) perror("write");
  });
}

void wait_for(const char* key, int from, int to, const std::string& name) {
  std::thread other = later(to);
  std::uint64_t data = 0;
  printf("%s: %zd\n", key, read(from, &data, sizeof data));
  other.join();
  tell("%s %s", key, name.c_str());
  tell("writer_of_%s %d", key, static_cast<int>(g_writer));
}

std::string link_of(int descriptor) {
  char text[512];
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), text, sizeof text);
  return {text, length > 0 ? static_cast<size_t>(length) : 0};
}

// Twice with the same numbers, which stand for something else then.
void pipes() {
  for (const char* key : {"pipe", "next_pipe"}) {
    int ends[2];
    if (pipe(ends) != 0) return;
    wait_for(key, ends[0], ends[1], link_of(ends[0]));
    close(ends[0]);
    close(ends[1]);
  }
}

std::string address_of(int (*ask)(int, sockaddr*, socklen_t*), int descriptor) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  ask(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes);
  return std::string(inet_ntoa(address.sin_addr)) + ":" + std::to_string(ntohs(address.sin_port));
}

void internet() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), bytes) != 0 || listen(listener, 1) != 0) return;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes);
  std::thread caller([&] {
    std::this_thread::sleep_for(kLong);
    if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) perror("connect");
  });
  const int server = accept(listener, nullptr, nullptr);
  caller.join();
  tell("accept tcp from %s", address_of(getsockname, listener).c_str());
  const std::string ends = address_of(getpeername, client) + " from " + address_of(getsockname, client);
  wait_for("tcp", client, server, "tcp " + ends);
  std::thread other = later(server);
  pollfd one{client, POLLIN, 0};
  printf("poll: %d\n", poll(&one, 1, 5000));
  other.join();
  tell("poll tcp %s", ends.c_str());
  for (const int descriptor : {listener, client, server}) close(descriptor);
}

void local() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  wait_for("unix", ends[0], ends[1], "unix process " + std::to_string(getpid()));
  // Of two nobody says which one was meant.
  std::thread other = later(ends[1]);
  pollfd both[] = {{ends[0], POLLIN, 0}, {ends[1], POLLPRI, 0}};
  printf("poll of two: %d\n", poll(both, 2, 5000));
  other.join();
  for (const int descriptor : ends) close(descriptor);
}

void event() {
  const int descriptor = eventfd(0, 0);
  wait_for("event", descriptor, descriptor, link_of(descriptor));
  close(descriptor);
}

}  // namespace

int main() {
  pipes();
  internet();
  local();
  event();
  return 0;
}
