// The queue of kernel launches: whatever orders two launches for their threads orders them in it.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "probe/fixes/launching/launch_queue.h"

namespace hostprobe::probe {
namespace {

using Reserved = LaunchQueue::Reserved;

// As own_memory gives it.
struct Zeros {
  void operator()(LaunchQueue* queue) const { ::operator delete (queue, std::align_val_t{64}); }
};
std::unique_ptr<LaunchQueue, Zeros> make_queue() {
  void* memory = ::operator new (sizeof(LaunchQueue), std::align_val_t{64});
  memset(memory, 0, sizeof(LaunchQueue));
  return std::unique_ptr<LaunchQueue, Zeros>(new (memory) LaunchQueue);
}

bool put(LaunchQueue& queue, unsigned units, unsigned number) {
  std::uint64_t position;
  Reserved reserved;
  while ((reserved = queue.reserve(units, position)) == Reserved::kFull) std::this_thread::yield();
  if (reserved == Reserved::kClosed) return false;
  QueuedLaunch& launch = queue.at(position);
  launch.shared_bytes = number;
  launch.units = static_cast<std::uint16_t>(units);
  launch.attributes = 0;
  memset(launch.parameters(), static_cast<int>(number & 0xff), units * LaunchQueue::kUnitBytes - sizeof launch);
  queue.publish(position);
  return true;
}

bool is_whole(QueuedLaunch& launch) {
  const std::size_t bytes = launch.units * LaunchQueue::kUnitBytes - sizeof launch;
  for (std::size_t i = 0; i < bytes; ++i)
    if (static_cast<unsigned char>(launch.parameters()[i]) != (launch.shared_bytes & 0xff)) return false;
  return true;
}

TEST(LaunchQueue, GivesBackWholeLaunchesInTheOrderOfALock) {
  constexpr unsigned kThreads = 4, kEach = 20000;
  auto queue = make_queue();
  std::mutex mutex;
  unsigned next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (unsigned n = 0; n < kEach; ++n) {
        const std::lock_guard lock(mutex);
        put(*queue, 2 + (n * 7 + i) % (LaunchQueue::kMostUnits - 1), next++);
      }
    });
  unsigned wrong = 0;
  for (unsigned taken = 0; taken < kThreads * kEach;) {
    QueuedLaunch* launch = queue->next();
    if (launch == nullptr) continue;
    wrong += launch->shared_bytes != taken || !is_whole(*launch);
    queue->submitted_one(*launch);
    ++taken;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(queue->is_empty());
}

TEST(LaunchQueue, RefusesWhenItIsFullUntilOneIsTaken) {
  auto queue = make_queue();
  std::uint64_t position = 0, last = 0;
  for (unsigned i = 0; i < LaunchQueue::kUnits / 64; ++i) EXPECT_TRUE(put(*queue, 64, i));
  EXPECT_EQ(queue->reserve(1, position), Reserved::kFull);
  queue->submitted_one(*queue->next());
  EXPECT_EQ(queue->reserve(64, last), Reserved::kYes);
  EXPECT_EQ(last, LaunchQueue::kUnits);
}

TEST(LaunchQueue, TakesNothingWhileClosedAndKeepsWhatItHas) {
  auto queue = make_queue();
  std::uint64_t position;
  EXPECT_TRUE(put(*queue, 3, 7));
  queue->close();
  EXPECT_EQ(queue->reserve(1, position), Reserved::kClosed);
  EXPECT_FALSE(queue->is_empty());
  EXPECT_EQ(queue->next()->shared_bytes, 7u);
  queue->submitted_one(*queue->next());
  EXPECT_TRUE(queue->is_empty());
  queue->open();
  EXPECT_TRUE(put(*queue, 3, 8));
}

TEST(LaunchQueue, TakesNoneForWholeThatIsOnlyPromised) {
  auto queue = make_queue();
  std::uint64_t first, second;
  EXPECT_EQ(queue->reserve(2, first), Reserved::kYes);
  EXPECT_EQ(queue->reserve(2, second), Reserved::kYes);
  queue->at(second).units = 2;
  queue->publish(second);
  EXPECT_EQ(queue->next(), nullptr);
  queue->at(first).units = 2;
  queue->publish(first);
  queue->submitted_one(*queue->next());
  EXPECT_EQ(queue->next(), &queue->at(second));
}

}  // namespace
}  // namespace hostprobe::probe
