#include "deed.h"

#include "disk_file.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after_us(double us) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(us));
}

[[gnu::noinline]] void pause_for(double us) {
  std::this_thread::sleep_until(after_us(us));
  asm volatile("" ::: "memory");
}

int connect_to(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int attempt = 0; attempt < 500; ++attempt) {
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return connection;
    close(connection);
    usleep(10000);
  }
  fprintf(stderr, "generated program: no service on port %d.\n", port);
  exit(1);
}

}  // namespace

Deeds::Deeds(const Plan& plan, const std::string& where, int rank, Device* device)
    : plan_(plan), rank_(rank), device_(device) {
  for (const Deed& deed : plan.deeds) {
    if (deed.where != where || (deed.rank >= 0 && deed.rank != rank)) continue;
    auto& bound = bound_.emplace_back(std::make_unique<Bound>());
    bound->deed = deed;
    bound->call = find_named_call(deed.function);
    bound->called_back.iterations = iterations(deed.us);
    if (deed.how == "fsync") journal_ = std::make_unique<JournalFile>();
    if (deed.how == "read") samples_ = std::make_unique<SampleFile>();
    if (deed.how == "ask") service_ = connect_to(plan.port);
  }
}

Deeds::~Deeds() {
  if (service_ >= 0) close(service_);
}

void Deeds::perform(int step) {
  for (auto& bound : bound_)
    if (bound->deed.is_due(step, rank_, plan_.ranks)) perform(*bound);
}

void Deeds::perform(Bound& bound) {
  const double us = bound.deed.us;
  const std::string& how = bound.deed.how;
  if (how == "compute")
    bound.call(Task{iterations(us), nullptr, nullptr});
  else if (how == "sleep")
    call_in(bound.call, [us] { pause_for(us); });
  else if (how == "fsync")
    call_in(bound.call, [this, us] { journal_->append_until(after_us(us)); });
  else if (how == "read")
    call_in(bound.call, [this, us] { samples_->read_until(after_us(us)); });
  else if (how == "pages")
    call_in(bound.call, [this, us] { touch_fresh_pages(us); });
  else if (how == "ask")
    call_in(bound.call, [this, us] { ask_service(us); });
  else
    call_in(bound.call, [this, &bound] { perform_on_device(bound); });
}

void Deeds::perform_on_device(Bound& bound) {
  const std::string& how = bound.deed.how;
  const auto bytes = static_cast<size_t>(bound.deed.bytes);
  if (how == "synchronize")
    device_->synchronize();
  else if (how == "allocate")
    device_->allocate_and_free(bytes);
  else if (how == "read_pageable")
    device_->read_value_into_pageable();
  else if (how == "read_and_wait")
    device_->read_value_into_pageable(), device_->synchronize();
  else if (how == "copy_pageable" || how == "copy_pinned")
    device_->copy_from(how == "copy_pinned", bytes);
  else if (how == "load_module")
    device_->load_module();
  else if (how == "call_back")
    device_->call_back([](void* what) { static_cast<Bound*>(what)->call(static_cast<Bound*>(what)->called_back); },
                       &bound);
  else
    fprintf(stderr, "generated program: no deed is called %s.\n", how.c_str()), exit(2);
}

// Memory that the kernel has to clear first, given back at once.
void Deeds::touch_fresh_pages(double us) const {
  constexpr size_t kBytes = size_t{1} << 20, kPage = 4096;
  const auto end = after_us(us);
  do {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    madvise(memory, kBytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < kBytes; at += kPage) static_cast<volatile char*>(memory)[at] = 1;
    munmap(memory, kBytes);
  } while (Clock::now() < end);
}

void Deeds::ask_service(double us) {
  char answer;
  if (write(service_, &us, sizeof us) != sizeof us || read(service_, &answer, 1) != 1) {
    fprintf(stderr, "generated program: the service went away.\n");
    exit(1);
  }
}
