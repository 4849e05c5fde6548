// control_link.h: asking a running process's hostprobe for something, through the shared memory that it records into.
//
// Room 3. Nothing listens anywhere: whoever may write to the memory (the same user, or root) may
// ask, one at a time. The process looks four times a second. All failures are std::runtime_error with one line for people.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include "format/segment.h"

namespace hostprobe::analysis {

// The process understood and will not; the text is its own.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Nobody in the process could answer: it does not record, or not where it can be asked.
struct NotRecorded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ControlLink {
 public:
  // Finds the process's memory and waits for its turn, at most `patience`, and so long again for each answer.
  ControlLink(int pid, std::chrono::milliseconds patience);
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;

  std::string ask(const std::string& request);

 private:
  void take_turn();
  [[noreturn]] void give_up();
  [[noreturn]] void withdraw(const std::string& why);
  bool may_answer() const;

  int pid_;
  std::chrono::milliseconds patience_;
  SegmentHeader* header_ = nullptr;
};

// The letter of /proc/PID/stat: 'T' is stopped, 'Z' has ended; 0: there is no such process.
char process_state(int pid);

}  // namespace hostprobe::analysis
