// Functions whose names a plan chooses: whatever the plan lets a program do, it does in one of them, so that a profile shows that name.
#pragma once
#include <cstdint>
#include <string>

struct Task {
  uint64_t iterations = 0;       // of plain arithmetic, in the named function itself
  void (*run)(void*) = nullptr;  // and then this
  void* argument = nullptr;
};

using NamedCall = void (*)(const Task&);

// Ends the program where function_names.def has no such name.
NamedCall find_named_call(const std::string& name);

template <typename Function>
void call_in(NamedCall call, Function function) {
  call(Task{0, [](void* argument) { (*static_cast<Function*>(argument))(); }, &function});
}

// How many iterations this machine makes in a microsecond, the best of many short trials.
double measure_iterations_per_us();
