// chunk_memory.cpp: where can records be stored without the storing thread ever being held up?
//
// Every place goes through the same loop: 64-byte stores round a ring of 16 MiB, each store's time by the tick counter.
// The first row is the control: memory of the process's own, where every delay is the machine's and not the place's.
// The result stands in docs/decisions/0002-where-chunks-live.md.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "placement.h"

namespace hostprobe::bench {
namespace {

constexpr std::size_t kBytes = 16 << 20;
constexpr std::size_t kLines = kBytes / 64;
using Clock = std::chrono::steady_clock;

// ---- times of single stores -------------------------------------------------------------------------------------------

double measure_ticks_per_ns() {
  auto begin = Clock::now();
  std::uint64_t ticks = __rdtsc();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::chrono::duration<double, std::nano> ns = Clock::now() - begin;
  return static_cast<double>(__rdtsc() - ticks) / ns.count();
}

// Ticks in cells of 1/32 of a power of two: 3 % wide, from 1 tick to hours.
class Histogram {
 public:
  void add(std::uint64_t ticks) {
    ++cells_[cell_of(ticks)];
    if (ticks > most_) most_ = ticks;
    sum_ += ticks;
    ++count_;
  }

  double quantile(double share) const {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if ((before += cells_[i]) > share * static_cast<double>(count_)) return value_of(i);
    return static_cast<double>(most_);
  }

  // Stores that took longer than `ticks`, to the width of a cell.
  std::uint64_t above(double ticks) const {
    std::uint64_t count = 0;
    for (std::size_t i = cell_of(static_cast<std::uint64_t>(ticks)) + 1; i < cells_.size(); ++i) count += cells_[i];
    return count;
  }

  std::uint64_t count() const { return count_; }
  double mean() const { return static_cast<double>(sum_) / static_cast<double>(count_); }
  double most() const { return static_cast<double>(most_); }

 private:
  static constexpr unsigned kFine = 5;

  static std::size_t cell_of(std::uint64_t ticks) {
    if (ticks < (1u << kFine)) return ticks;
    unsigned shift = 63u - static_cast<unsigned>(__builtin_clzll(ticks)) - kFine;
    return (std::size_t{shift + 1} << kFine) + ((ticks >> shift) & ((1u << kFine) - 1));
  }
  static double value_of(std::size_t cell) {
    if (cell < (1u << kFine)) return static_cast<double>(cell);
    auto shift = static_cast<int>((cell >> kFine) - 1);
    return std::ldexp(static_cast<double>((1u << kFine) + (cell & ((1u << kFine) - 1))), shift);
  }

  std::array<std::uint64_t, 60u << kFine> cells_{};
  std::uint64_t most_ = 0, sum_ = 0, count_ = 0;
};

// One round of the ring. A store's time runs from the end of the one before, so no delay falls between two.
void store_round(char* memory, Histogram& histogram) {
  std::uint64_t last = __rdtsc();
  for (std::size_t i = 0; i < kLines; ++i) {
    auto* words = reinterpret_cast<volatile std::uint64_t*>(memory + i * 64);
    for (int w = 0; w < 8; ++w) words[w] = last;
    std::uint64_t now = __rdtsc();
    histogram.add(now - last);
    last = now;
  }
}

// ---- places -----------------------------------------------------------------------------------------------------------

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("chunk_memory: " + what + " (" + std::strerror(errno) + ")");
}

struct Memory {
  char* bytes = nullptr;
  int fd = -1;
  std::function<void()> release;
};

Memory map_file(int fd, const std::string& path) {
  if (fd < 0 || ftruncate(fd, kBytes) != 0) fail("no file of 16 MiB in " + path);
  void* bytes = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) fail("cannot map " + path);
  return {static_cast<char*>(bytes), fd, [=] {
            munmap(bytes, kBytes);
            close(fd);
            if (!path.empty()) unlink(path.c_str());
          }};
}

Memory file_in(const std::string& folder) {
  std::string path = folder + "/chunk_memory." + std::to_string(getpid());
  return map_file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), path);
}

Memory own_memory() {
  void* bytes = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) fail("no memory");
  return {static_cast<char*>(bytes), -1, [=] { munmap(bytes, kBytes); }};
}

Memory system_v() {
  int id = shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
  if (id < 0) fail("no System V segment");
  void* bytes = shmat(id, nullptr, 0);
  shmctl(id, IPC_RMID, nullptr);
  if (bytes == reinterpret_cast<void*>(-1)) fail("cannot attach the segment");
  return {static_cast<char*>(bytes), -1, [=] { shmdt(bytes); }};
}

struct Place {
  const char* name;
  std::function<Memory()> make;
  bool synced;  // another thread calls fdatasync every 500 ms
};

// ---- rows -------------------------------------------------------------------------------------------------------------

// Runs `work` while another thread forces the file to disk, as a kernel under memory pressure or a busy disk does.
void while_synced(const Memory& memory, bool synced, const std::function<void()>& work) {
  std::atomic<bool> done{false};
  std::thread syncer([&] {
    pin(0, allowed_cpu(1));
    for (int i = 0; synced && !done.load(); ++i) {
      if (i % 10 == 9) fdatasync(memory.fd);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  work();
  done.store(true);
  syncer.join();
}

void print_row(const char* place, const char* state, const Histogram& h, double ticks_per_ns) {
  auto per_million = [&](double ns) {
    return static_cast<double>(h.above(ns * ticks_per_ns)) * 1e6 / static_cast<double>(h.count());
  };
  std::printf("| %s | %s | %.0f | %.1f | %.1f | %.0f | %.1f | %.2f | %.3f | %.3f | %.0f |\n", place, state,
              static_cast<double>(h.count()) / 1e6, h.mean() / ticks_per_ns, h.quantile(0.5) / ticks_per_ns,
              h.quantile(0.999) / ticks_per_ns, per_million(1e3), per_million(1e4), per_million(1e5), per_million(1e6),
              h.most() / ticks_per_ns / 1e3);
  std::fflush(stdout);
}

// Memory that is there already, gone round until the time is over.
void measure_resident(const Place& place, double seconds, double ticks_per_ns) {
  Memory memory = place.make();
  std::memset(memory.bytes, 0, kBytes);
  Histogram histogram;
  while_synced(memory, place.synced, [&] {
    auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) store_round(memory.bytes, histogram);
  });
  memory.release();
  print_row(place.name, "pre-faulted", histogram, ticks_per_ns);
}

// Memory that nobody has touched: each round takes a new one.
void measure_untouched(const Place& place, double seconds, double ticks_per_ns) {
  Histogram histogram;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    Memory memory = place.make();
    store_round(memory.bytes, histogram);
    memory.release();
  } while (Clock::now() < end);
  print_row(place.name, "untouched", histogram, ticks_per_ns);
}

void run(double seconds, const std::string& folder) {
  const Place places[] = {{"own memory (control)", own_memory, false},
                          {"System V segment", system_v, false},
                          {"file in /dev/shm", [] { return file_in("/dev/shm"); }, false},
                          {"memfd", [] { return map_file(memfd_create("chunk_memory", MFD_CLOEXEC), ""); }, false},
                          {"file on disk", [&] { return file_in(folder); }, false},
                          {"file on disk, fdatasync every 500 ms", [&] { return file_in(folder); }, true}};
  allowed_cpus();
  pin(0, allowed_cpu(0));
  double ticks_per_ns = measure_ticks_per_ns();
  std::puts(
      "| place | state | stores, M | mean ns | median ns | p99.9 ns | > 1 µs per M | > 10 µs per M | "
      "> 100 µs per M | > 1 ms per M | longest µs |\n|---|---|---|---|---|---|---|---|---|---|---|");
  for (const Place& place : places) measure_resident(place, seconds, ticks_per_ns);
  for (const Place& place : places)
    if (!place.synced) measure_untouched(place, seconds / 2, ticks_per_ns);
}

}  // namespace
}  // namespace hostprobe::bench

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  if (argc > 3 || seconds <= 0) {
    std::fputs("usage: chunk_memory [SECONDS each = 10] [FOLDER on a disk = .]\n", stderr);
    return 2;
  }
  try {
    hostprobe::bench::run(seconds, argc > 2 ? argv[2] : ".");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
