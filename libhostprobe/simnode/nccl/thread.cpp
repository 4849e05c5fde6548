// See thread.h.
#include "thread.h"

#include "settings.h"

#include <sched.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace simnode::nccl {

bool Thread::start(Body body, void* argument) {
  if (settings().std_threads) {
    try {
      standard_ = std::thread(body, argument);
      started_ = true;
    } catch (const std::system_error&) {
      started_ = false;
    }
    return started_;
  }
  started_ = pthread_create(&posix_, nullptr, body, argument) == 0;
  return started_;
}

void Thread::join() {
  if (!started_) return;
  started_ = false;
  if (standard_.joinable())
    standard_.join();
  else
    pthread_join(posix_, nullptr);
}

void Thread::detach() {
  if (!started_) return;
  started_ = false;
  if (standard_.joinable())
    standard_.detach();
  else
    pthread_detach(posix_);
}

void name_this_thread(const char* format, ...) {
  if (!settings().name_threads) return;
  char name[16];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  pthread_setname_np(pthread_self(), name);
}

WaitPoint::WaitPoint() : standard_(settings().std_threads) {
  pthread_mutex_init(&posix_mutex_, nullptr);
  pthread_cond_init(&posix_condition_, nullptr);
}

void WaitPoint::lock() {
  if (standard_)
    mutex_.lock();
  else
    pthread_mutex_lock(&posix_mutex_);
}

void WaitPoint::unlock() {
  if (standard_)
    mutex_.unlock();
  else
    pthread_mutex_unlock(&posix_mutex_);
}

void WaitPoint::wait() {
  if (!standard_) {
    pthread_cond_wait(&posix_condition_, &posix_mutex_);
    return;
  }
  std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
  condition_.wait(lock);
  lock.release();
}

void WaitPoint::signal() {
  if (standard_)
    condition_.notify_all();
  else
    pthread_cond_broadcast(&posix_condition_);
}

namespace {

// "0-3,8" as in sysfs.
bool read_cpu_list(int numa_node, cpu_set_t* cpus) {
  char path[80], text[4096];
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", numa_node);
  FILE* file = fopen(path, "re");
  if (file == nullptr) return false;
  bool read = fgets(text, sizeof text, file) != nullptr;
  fclose(file);
  CPU_ZERO(cpus);
  for (char* at = text; read && *at >= '0' && *at <= '9';) {
    long first = strtol(at, &at, 10), last = first;
    if (*at == '-') last = strtol(at + 1, &at, 10);
    for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(static_cast<size_t>(cpu), cpus);
    if (*at == ',') ++at;
  }
  return read && CPU_COUNT(cpus) > 0;
}

}  // namespace

NearDevice::NearDevice(int numa_node) {
  cpu_set_t near;
  if (numa_node < 0 || sched_getaffinity(0, sizeof before_, &before_) != 0 || !read_cpu_list(numa_node, &near)) return;
  if (!settings().ignore_affinity) CPU_AND(&near, &near, &before_);
  if (CPU_COUNT(&near) == 0) return;
  changed_ = sched_setaffinity(0, sizeof near, &near) == 0;
}

NearDevice::~NearDevice() {
  if (changed_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace simnode::nccl
