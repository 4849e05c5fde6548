// run_control.h: asking several running processes for the same, at the same time.
//
// Room 3. Each over a link of its own (control_link.h), which is kept from the first question to the last.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "control_link.h"
#include "run_processes.h"

namespace hostprobe::analysis {

struct ControlAnswer {
  RunProcess process;
  std::string text;
  std::exception_ptr failure;  // nothing where it was done

  std::string why() const;  // "" where it was done
};

class RunControl {
 public:
  RunControl(const std::vector<RunProcess>& processes, std::chrono::milliseconds patience);

  // In the order of the processes. One that failed before is not asked again, and has the same failure.
  const std::vector<ControlAnswer>& ask(const std::string& request);

 private:
  void ask_one(std::size_t index, const std::string& request);

  std::chrono::milliseconds patience_;
  std::vector<ControlAnswer> answers_;
  std::vector<std::unique_ptr<ControlLink>> links_;
};

bool all_done(const std::vector<ControlAnswer>& answers);

// Workers in which no thread of hostprobe runs, so far or any more: nobody there could answer. They are taken out.
std::size_t leave_out_silent_workers(std::vector<RunProcess>& processes);

// The fix `auto` compares all ranks of a job. Why it would try nothing if these were asked; "" where nothing speaks against it.
std::string auto_obstacle(const std::vector<RunProcess>& asked);

}  // namespace hostprobe::analysis
