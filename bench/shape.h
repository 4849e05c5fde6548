// shape.h: the calls whose cost is measured, each as the bare function and as the program sees it.
#pragma once

#include <vector>

namespace hostprobe::bench {

struct Shape {
  const char* name;
  void* bare;    // the function itself
  void* hooked;  // what this process gets under that name: with a preload the hook, else the same
  // Makes `count` calls of `function`. Both go through a pointer, as calls into a shared library do.
  void (*call)(void* function, unsigned count);
  // Brings about the state in which `count` calls take the path that is meant; may be null.
  void (*prepare)(unsigned count);
  unsigned burst;         // calls in a row; those that record must fit the buffers
  void* least = nullptr;  // the bare function with the least around it that could record it, where there is one
};

// Calls that record, and calls that need not. Throws std::runtime_error when a function cannot be found.
std::vector<Shape> all_shapes();

// One way of a wake from thread to thread: two threads take turns `turns` times. Nanoseconds of wall time per wake.
double wake_ns(void* post, void* wait, unsigned turns);
struct Semaphore {
  void *post, *wait;
};
Semaphore bare_semaphore();
Semaphore hooked_semaphore();

}  // namespace hostprobe::bench
