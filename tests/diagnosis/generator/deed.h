// Does what the plan says is done at one moment of the step, or by one thread.
#pragma once
#include "device.h"
#include "named_call.h"
#include "plan.h"

#include <memory>
#include <string>
#include <vector>

class JournalFile;
class SampleFile;

class Deeds {
 public:
  // `device` is null for threads that have nothing to do with it.
  Deeds(const Plan& plan, const std::string& where, int rank, Device* device = nullptr);
  ~Deeds();

  void perform(int step);

 private:
  struct Bound {
    Deed deed;
    NamedCall call;
    Task called_back;  // of how=call_back: done while the stream waits
  };
  void perform(Bound& bound);
  void perform_on_device(Bound& bound);
  uint64_t iterations(double us) const { return static_cast<uint64_t>(us * plan_.iterations_per_us); }
  void touch_fresh_pages(double us) const;
  void ask_service(double us);

  const Plan& plan_;
  int rank_;
  Device* device_;
  std::vector<std::unique_ptr<Bound>> bound_;
  std::unique_ptr<JournalFile> journal_;
  std::unique_ptr<SampleFile> samples_;
  int service_ = -1;
};
