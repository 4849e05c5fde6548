// shape.cpp: see shape.h.
#include "shape.h"

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "placement.h"

namespace hostprobe::bench {
namespace {

// Calls that record: as many as fill 32 chunks of 255 records, at which the writer is woken. With fewer it would come only
// after its pause of a quarter of a second.
constexpr unsigned kBurst = 8192;

using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  CUstream, void**, void**);
using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
using GraphLaunch = CUresult (*)(CUgraphExec, CUstream);
using Synchronize = CUresult (*)(CUstream);
using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

auto const kKernel = reinterpret_cast<CUfunction>(0x7f0012345670);
auto const kStream = reinterpret_cast<CUstream>(0x7f0012345680);
auto const kGraph = reinterpret_cast<CUgraphExec>(0x7f0012345690);
sem_t g_semaphore;
pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

template <class Function>
Function as(void* address) {
  return reinterpret_cast<Function>(address);
}

void call_launch(void* function, unsigned count) {
  void* arguments[1] = {};
  auto launch = as<LaunchKernel>(function);
  for (unsigned i = 0; i < count; ++i) launch(kKernel, 132, 1, 1, 256, 1, 1, 0, kStream, arguments, nullptr);
}

void call_launch_ex(void* function, unsigned count) {
  CUlaunchConfig config{};
  config.gridDimX = 132;
  config.blockDimX = 256;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = kStream;
  auto launch = as<LaunchKernelEx>(function);
  for (unsigned i = 0; i < count; ++i) launch(&config, kKernel, nullptr, nullptr);
}

void call_graph(void* function, unsigned count) {
  for (unsigned i = 0; i < count; ++i) as<GraphLaunch>(function)(kGraph, kStream);
}

void call_synchronize(void* function, unsigned count) {
  for (unsigned i = 0; i < count; ++i) as<Synchronize>(function)(kStream);
}

void call_signal(void* function, unsigned count) {
  for (unsigned i = 0; i < count; ++i) as<int (*)(pthread_cond_t*)>(function)(&g_condition);
}

void call_semaphore(void* function, unsigned count) {
  for (unsigned i = 0; i < count; ++i) as<int (*)(sem_t*)>(function)(&g_semaphore);
}

struct Lock {
  int (*take)(pthread_mutex_t*);
  int (*release)(pthread_mutex_t*);
};

void call_mutex(void* function, unsigned count) {
  const Lock* lock = as<const Lock*>(function);
  for (unsigned i = 0; i < count; ++i) {
    lock->take(&g_mutex);
    lock->release(&g_mutex);
  }
}

// An event descriptor that always has something to read, and an epoll that watches it.
int ready_descriptor() {
  static int descriptor = eventfd(1u << 31, EFD_SEMAPHORE);
  return descriptor;
}

int ready_epoll() {
  static int epoll = [] {
    epoll_event event{};
    event.events = EPOLLIN;
    int made = epoll_create1(0);
    epoll_ctl(made, EPOLL_CTL_ADD, ready_descriptor(), &event);
    return made;
  }();
  return epoll;
}

void call_epoll(void* function, unsigned count) {
  epoll_event event;
  int epoll = ready_epoll();
  for (unsigned i = 0; i < count; ++i) as<int (*)(int, epoll_event*, int, int)>(function)(epoll, &event, 1, 10);
}

void call_read(void* function, unsigned count) {
  std::uint64_t value;
  int descriptor = ready_descriptor();
  for (unsigned i = 0; i < count; ++i) as<ssize_t (*)(int, void*, std::size_t)>(function)(descriptor, &value, 8);
}

// hostprobe knows a progress thread that NCCL did not start by its name.
void become_progress_thread(unsigned) { pthread_setname_np(pthread_self(), "NCCL Progress 0"); }

void call_yield(void* function, unsigned count) {
  for (unsigned i = 0; i < count; ++i) as<int (*)()>(function)();
}

// A time limit that has passed: the wait blocks, goes into the kernel and comes back, with nobody else involved.
void call_expired_wait(void* function, unsigned count) {
  timespec past{1, 0};
  pthread_mutex_lock(&g_mutex);
  for (unsigned i = 0; i < count; ++i)
    as<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(function)(&g_condition, &g_mutex, &past);
  pthread_mutex_unlock(&g_mutex);
}

void empty_semaphore(unsigned) { sem_init(&g_semaphore, 0, 0); }
void fill_semaphore(unsigned count) { sem_init(&g_semaphore, 0, count); }

void* found(void* address, const char* name) {
  if (address == nullptr) throw std::runtime_error(std::string("hook_cost: no ") + name + " (" + dlerror() + ")");
  return address;
}

void* in_libc(const char* name) {
  static void* libc = found(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "libc.so.6");
  return found(dlsym(libc, name), name);
}

// The driver is reached as cudart, NCCL and Triton do: cuGetProcAddress by dlsym, everything else by cuGetProcAddress.
class Driver {
 public:
  Driver()
      : library_(found(dlopen(BENCH_DRIVER, RTLD_NOW | RTLD_LOCAL), BENCH_DRIVER)),
        get_(as<GetProcAddress>(found(dlsym(library_, "cuGetProcAddress_v2"), "cuGetProcAddress_v2"))),
        bare_(as<void* (*)(const char*)>(found(dlsym(library_, "bench_bare_function"), "bench_bare_function"))) {}

  void* hooked(const char* name) const {
    void* function = nullptr;
    get_(name, &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
    return found(function, name);
  }
  void* bare(const char* name) const { return found(bare_(name), name); }

 private:
  void* library_;
  GetProcAddress get_;
  void* (*bare_)(const char*);
};

template <class Function>
void* here(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

std::vector<Shape> all_shapes() {
  static Lock bare_mutex{as<int (*)(pthread_mutex_t*)>(in_libc("pthread_mutex_lock")),
                         as<int (*)(pthread_mutex_t*)>(in_libc("pthread_mutex_unlock"))};
  static Lock hooked_mutex{&pthread_mutex_lock, &pthread_mutex_unlock};
  Driver driver;
  auto of_driver = [&](const char* shape, const char* name, auto call, unsigned burst) {
    return Shape{shape, driver.bare(name), driver.hooked(name), call, nullptr, burst};
  };
  Shape launch = of_driver("launch_11_arguments", "cuLaunchKernel", call_launch, kBurst);
  launch.least = driver.bare("bench_least_launch");
  return {launch,
          of_driver("launch_4_arguments", "cuLaunchKernelEx", call_launch_ex, kBurst),
          of_driver("graph_launch_2_arguments", "cuGraphLaunch", call_graph, kBurst),
          of_driver("synchronize_1_argument", "cuStreamSynchronize", call_synchronize, kBurst),
          {"cond_signal_idle", in_libc("pthread_cond_signal"), here(&pthread_cond_signal), call_signal, nullptr, 20000},
          {"sem_post_idle", in_libc("sem_post"), here(&sem_post), call_semaphore, empty_semaphore, 20000},
          {"sem_wait_at_once", in_libc("sem_wait"), here(&sem_wait), call_semaphore, fill_semaphore, 20000},
          {"sem_trywait_at_once", in_libc("sem_trywait"), here(&sem_trywait), call_semaphore, fill_semaphore, 20000},
          {"cond_timedwait_expired", in_libc("pthread_cond_timedwait"), here(&pthread_cond_timedwait),
           call_expired_wait, nullptr, kBurst},
          {"mutex_pair_free", &bare_mutex, &hooked_mutex, call_mutex, nullptr, 20000},
          {"epoll_wait_ready", in_libc("epoll_wait"), here(&epoll_wait), call_epoll, nullptr, 4000},
          {"read_ready", in_libc("read"), here(&read), call_read, nullptr, 4000},
          {"progress_poll", in_libc("sched_yield"), here(&sched_yield), call_yield, become_progress_thread, 4000}};
}

Semaphore bare_semaphore() { return {in_libc("sem_post"), in_libc("sem_wait")}; }
Semaphore hooked_semaphore() { return {here(&sem_post), here(&sem_wait)}; }

double wake_ns(void* post, void* wait, unsigned turns) {
  sem_t ping, pong;
  sem_init(&ping, 0, 0);
  sem_init(&pong, 0, 0);
  auto wake = as<int (*)(sem_t*)>(post);
  auto sleep = as<int (*)(sem_t*)>(wait);
  std::thread other([&] {
    pin(0, allowed_cpu(1));
    for (unsigned i = 0; i < turns; ++i) {
      sleep(&ping);
      wake(&pong);
    }
  });
  timespec begin{}, end{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (unsigned i = 0; i < turns; ++i) {
    wake(&ping);
    sleep(&pong);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  other.join();
  double ns = static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 + static_cast<double>(end.tv_nsec - begin.tv_nsec);
  return ns / turns / 2;
}

}  // namespace hostprobe::bench
