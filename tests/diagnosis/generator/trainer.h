// One rank's training: the order in which a step of the drawn structure launches, communicates, waits and reads.
#pragma once
#include "deed.h"
#include "device.h"
#include "loader.h"
#include "plan.h"
#include "ranks.h"
#include "side_threads.h"

#include <optional>

class Trainer {
 public:
  Trainer(const Plan& plan, int rank);

  // The mean length of a step, in milliseconds, without the first tenth.
  double run();

 private:
  void step(int number);
  void take_input(int number);
  void compute(int number);
  void finish(int number);
  void run_data_parallel(int number);
  void run_pipeline(int number);
  void receive_forward();
  void send_backward();
  void exchange(bool sends, bool receives, int with);
  void forward(int number, bool trains);
  void backward(int number, bool last);
  void run_layer(int number, int times);
  void gather(int layer);
  void await_gathered();
  void reduce(int bucket, int buckets, bool scatters);
  void evaluate(int number);
  bool is(const char* structure) const { return plan_.structure == structure; }
  static bool is_due(int number, int every) { return every > 0 && number % every == every - 1; }
  size_t message_bytes() const { return static_cast<size_t>(plan_.message_kb) << 10; }

  const Plan& plan_;
  int rank_;
  std::unique_ptr<Loader> loader_;
  Device device_;
  Ranks ranks_;
  std::optional<Producer> producer_;
  std::optional<LockHolder> holder_;
  std::optional<Partner> partner_;
  std::optional<Writer> writer_;
  std::optional<Burners> burners_;
  Deeds at_step_, at_input_, at_micro_batch_, at_layer_, at_kernel_, at_backward_, at_end_;
  NamedCall take_, product_, lock_, wait_, read_, save_;
  CUdeviceptr activations_, gradients_, shard_;
  CUevent ready_, gathered_, reduced_;
  std::vector<CUevent> ends_;
};
