// step_program.h: the calls of a training or decoding program that a seed describes, and where its steps end.
//
// A program is drawn as one would write it: a structure (which ranks share what), layers, micro-batches, an optimizer, what is read back
// and how often, evaluations, checkpoints, and what disturbs it. Nothing here knows how steps are found.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "steps/step_token.h"

namespace hostprobe::test {

class StepProgram {
 public:
  explicit StepProgram(std::uint64_t seed);

  std::vector<Token> tokens;
  std::vector<double> ends_ns;  // of the steps that lie in the tokens as a whole, and where the first of them begins
  std::string text;             // what was drawn, for people
  bool has_gaps = false;

 private:
  enum class Structure { kSingle, kData, kSharded, kTensor, kPipeline, kDecode, kGraph };
  enum class Read { kNever, kEachStep, kEachMicroBatch, kSometimes };

  // Drawing.
  bool chance(double share) { return std::uniform_real_distribution<double>(0, 1)(random_) < share; }
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  int one_of(std::initializer_list<int> these) { return these.begin()[between(0, static_cast<int>(these.size()) - 1)]; }
  void draw();
  void draw_rare();
  void draw_optimizer();
  int steps_to_make() const;

  // Calls.
  void add(StepToken type, const std::string& name, std::uint64_t size, double us);
  void launch(const std::string& name, std::uint64_t blocks);
  void collective(const std::string& name, std::uint64_t bytes);
  void input();
  void read(const std::string& site);
  void noise();

  // Parts of a step.
  void layers(const std::string& pass, bool is_last_input);
  void layer(const std::string& pass, int number);
  void forward();
  void backward();
  void micro_batch();
  void pipeline();
  void update();
  void train_step(int number);
  void rare(int number);
  void evaluate();
  void checkpoint();
  void start_up();
  void decode();
  void prompt();
  void one_token();
  void end_step();
  void disturb();
  void cut_out(std::size_t begin, std::size_t end);

  std::mt19937_64 random_;
  double at_ns_ = 0;
  std::vector<double> marks_ns_;

  Structure structure_{};
  Read read_{};
  int layers_ = 1, kernels_ = 1, micro_ = 1, stages_ = 1, stage_ = 0, debug_every_ = 0, debug_count_ = 0;
  int optimizer_ = 1, log_every_ = 0, evaluate_every_ = 0, save_every_ = 0, evaluation_ = 0, copies_ = 0;
  int small_kernels_ = 0, norm_ = 0;
  bool same_kernels_ = false, reads_norm_ = false, reduces_log_ = false, evaluates_other_shape_ = false;
  bool input_each_micro_ = true, has_input_ = true, two_shapes_ = false, graph_prompts_ = false, saves_sharded_ = false;
  bool read_copies_ = false, optimizer_shares_ = false;
  double noise_ = 0, noise_per_launch_ = 0;
  std::uint64_t shape_ = 64;
};

}  // namespace hostprobe::test
