// step_program.cpp: see step_program.h.
#include "step_program.h"

#include <algorithm>
#include <functional>

namespace hostprobe::test {
namespace {

constexpr std::uint64_t kManyBlocks = 96;
constexpr std::uint64_t kGradients = 1 << 24, kActivations = 1 << 20, kNumber = 4;
constexpr int kMostTokens = 24000;

std::uint64_t hash_of(const std::string& name) { return mixed(std::hash<std::string>()(name)); }

}  // namespace

StepProgram::StepProgram(std::uint64_t seed) : random_(mixed(seed)) {
  draw();
  start_up();
  if (structure_ == Structure::kDecode) {
    decode();
  } else {
    marks_ns_.push_back(at_ns_);
    // How many calls a step has is known once one was made.
    for (int step = 0, steps = 1; step < steps; ++step) {
      train_step(step);
      if (step == 0) steps = steps_to_make();
      if (step == 0) noise_per_launch_ = noise_ / static_cast<double>(tokens.size());
      end_step();
      rare(step);
    }
  }
  disturb();
  for (const double end_ns : marks_ns_)
    if (!tokens.empty() && end_ns >= tokens.front().begin_ns && end_ns <= tokens.back().end_ns + 1e5)
      ends_ns.push_back(end_ns);
}

int StepProgram::steps_to_make() const {
  const int held = std::max(1, static_cast<int>(tokens.size()) - 1);
  return std::clamp(kMostTokens / held, 24, 150);
}

void StepProgram::draw() {
  constexpr const char* kNames[] = {"single", "data", "sharded", "tensor", "pipeline", "decode", "graph"};
  structure_ = static_cast<Structure>(between(0, 6));
  layers_ = between(1, 16);
  kernels_ = between(1, 10);
  same_kernels_ = chance(0.25);
  two_shapes_ = chance(0.2);
  micro_ = chance(0.5) ? 1 : one_of({2, 3, 4, 6, 8, 16});
  if (structure_ == Structure::kPipeline) {
    stages_ = between(2, 6);
    stage_ = between(0, stages_ - 1);
    micro_ = stages_ * between(1, 3);
  }
  has_input_ = chance(0.75) && (structure_ != Structure::kPipeline || stage_ == 0);
  input_each_micro_ = chance(0.8);
  draw_optimizer();
  draw_rare();
  if (chance(0.08) && structure_ != Structure::kDecode && structure_ != Structure::kGraph) debug_every_ = between(1, 5);
  if (chance(0.3)) noise_ = 0.02 * between(1, 15);  // of a step
  text = std::string(kNames[static_cast<int>(structure_)]) + " layers " + std::to_string(layers_) + "x" +
         std::to_string(kernels_) + (same_kernels_ ? " same" : "") + " micro " + std::to_string(micro_) + " stage " +
         std::to_string(stage_) + "/" + std::to_string(stages_) + " optimizer " + std::to_string(optimizer_) +
         (optimizer_shares_ ? "shared" : "") + " read " + std::to_string(static_cast<int>(read_)) + " log " +
         std::to_string(log_every_) + "+" + std::to_string(small_kernels_) + (reduces_log_ ? "r" : "") + " eval " +
         std::to_string(evaluate_every_) + "x" + std::to_string(evaluation_) + (evaluates_other_shape_ ? "shape" : "") +
         " save " + std::to_string(save_every_) + " debug " + std::to_string(debug_every_) + " norm " +
         std::to_string(norm_) + (reads_norm_ ? "read" : "") + " input " +
         std::to_string(has_input_ + has_input_ * input_each_micro_) + " noise " + std::to_string(noise_);
}

void StepProgram::draw_optimizer() {
  optimizer_ = chance(0.5) ? between(1, 4) : between(5, 60);
  optimizer_shares_ = chance(0.2);
  norm_ = chance(0.3) ? between(1, 8) : 0;
  reads_norm_ = norm_ > 0 && chance(0.3);
}

void StepProgram::draw_rare() {
  read_ = static_cast<Read>(between(0, 3));
  read_copies_ = chance(0.7);
  if (read_ == Read::kSometimes || chance(0.2)) log_every_ = one_of({2, 3, 5, 10, 10, 20, 25, 50});
  small_kernels_ = chance(0.4) ? between(1, 3) : 0;
  reduces_log_ = chance(0.4);
  if (chance(0.25)) evaluate_every_ = one_of({10, 20, 50});
  evaluation_ = between(1, 6);
  evaluates_other_shape_ = chance(0.3);
  if (chance(0.25)) save_every_ = one_of({5, 10, 25, 50});
  copies_ = between(1, 30);
  saves_sharded_ = chance(0.5);
}

void StepProgram::add(StepToken type, const std::string& name, std::uint64_t size, double us) {
  Token token;
  token.type = type;
  token.work = hash_of(name);
  const bool is_launch = type == StepToken::kLaunch || type == StepToken::kGraph;
  if (type == StepToken::kCollective) token.work = mixed(token.work, size);
  token.shape = is_launch ? mixed(token.work, size) : token.work;
  token.bytes = is_launch || type == StepToken::kCollective ? size : 0;
  at_ns_ += 1000 * std::uniform_real_distribution<double>(1, 4)(random_);
  token.begin_ns = at_ns_;
  token.end_ns = at_ns_ += 1000 * us * std::uniform_real_distribution<double>(0.9, 1.1)(random_);
  tokens.push_back(token);
}

void StepProgram::launch(const std::string& name, std::uint64_t blocks) {
  add(StepToken::kLaunch, name, blocks, 3);
  if (debug_every_ > 0 && ++debug_count_ % debug_every_ == 0) add(StepToken::kSync, "debug", 0, 15);
  noise();
}

void StepProgram::collective(const std::string& name, std::uint64_t bytes) {
  add(StepToken::kCollective, name, bytes, 6);
}

void StepProgram::input() { add(StepToken::kInput, "to device", 0, 5); }

void StepProgram::read(const std::string& site) {
  if (read_copies_) add(StepToken::kCopy, "from device", 0, 4);
  add(StepToken::kSync, site, 0, 120);
}

// What an allocator, a fill or a check adds now and then.
void StepProgram::noise() {
  if (!chance(noise_per_launch_)) return;
  if (chance(0.4))
    add(StepToken::kCopy, "fill", 0, 2);
  else if (chance(0.5))
    add(StepToken::kSync, "allocator", 0, 50);
  else
    add(StepToken::kLaunch, "check", 1, 3);
}

void StepProgram::layer(const std::string& pass, int number) {
  const std::uint64_t blocks = two_shapes_ && number % 2 != 0 ? 2 * shape_ : shape_;
  const bool is_backward = pass != "f";
  const std::string of = same_kernels_ ? "k" : pass;
  if (structure_ == Structure::kSharded) collective("gather", kActivations);
  const int count = is_backward ? 2 * kernels_ : kernels_;
  for (int i = 0; i < count; ++i) launch(of + std::to_string(i % 7), blocks);
  if (structure_ == Structure::kTensor) collective("reduce", kActivations);
  if (structure_ == Structure::kSharded && is_backward) collective("scatter", kActivations);
}

void StepProgram::forward() {
  debug_count_ = 0;
  if (stages_ > 1 && stage_ > 0) collective("receive", kActivations);
  for (int i = 0; i < layers_; ++i) layer("f", i);
  if (stages_ > 1 && stage_ + 1 < stages_) collective("send", kActivations);
}

void StepProgram::backward() {
  debug_count_ = 0;
  if (stages_ > 1 && stage_ + 1 < stages_) collective("receive", kActivations);
  if (stage_ + 1 == stages_) launch("loss", 8);
  for (int i = layers_; i-- > 0;) layer("b", i);
  if (stages_ > 1 && stage_ > 0) collective("send", kActivations);
}

void StepProgram::micro_batch() {
  if (has_input_ && input_each_micro_) input();
  forward();
  backward();
  if (read_ == Read::kEachMicroBatch) read("loss");
}

// One forward, one backward: as many forwards first as there are stages behind, and as many backwards at the end.
void StepProgram::pipeline() {
  const int ahead = std::min(micro_, stages_ - 1 - stage_);
  for (int i = 0; i < ahead + micro_; ++i) {
    if (i < micro_) {
      if (has_input_ && input_each_micro_) input();
      forward();
    }
    if (i >= ahead) backward();
  }
}

void StepProgram::update() {
  debug_count_ = 0;
  if (structure_ == Structure::kData || (structure_ == Structure::kPipeline && stages_ % 2 == 0))
    for (int i = 0; i <= layers_ / 4; ++i) collective("gradients", kGradients);
  for (int i = 0; i < norm_; ++i) launch("norm" + std::to_string(i % 2), kManyBlocks);
  if (norm_ > 0 && structure_ != Structure::kSingle) collective("norm", kNumber);
  if (reads_norm_) read("norm");
  for (int i = 0; i < optimizer_; ++i) {
    launch("adam" + std::to_string(i % 3), kManyBlocks);
    if (optimizer_shares_ && i % 5 == 4) launch(same_kernels_ ? "k0" : "b0", shape_);
  }
}

void StepProgram::train_step(int number) {
  if (has_input_ && (!input_each_micro_ || structure_ == Structure::kGraph)) input();
  if (structure_ == Structure::kGraph) {
    add(StepToken::kGraph, "step", 0, 300);  // as long as the GPU has the one before
    if (!has_input_ && read_ != Read::kEachStep) add(StepToken::kCopy, "fill", 0, 2);
  } else if (structure_ == Structure::kPipeline) {
    pipeline();
    update();
  } else {
    for (int i = 0; i < micro_; ++i) micro_batch();
    update();
  }
  // Kernels are compiled and chosen among in the first steps.
  if (number < 2 && structure_ != Structure::kGraph)
    for (int i = between(0, 12); i > 0; --i) launch("trial" + std::to_string(i), 32);
  if (read_ == Read::kEachStep) read("loss");
}

void StepProgram::rare(int number) {
  const auto is_due = [number](int every) { return every > 0 && number % every == every - 1; };
  if (is_due(log_every_)) {
    for (int i = 0; i < small_kernels_; ++i) launch("mean" + std::to_string(i), 1);
    if (reduces_log_ && structure_ != Structure::kSingle) collective("mean", kNumber);
    read("log");
  }
  if (is_due(evaluate_every_)) evaluate();
  if (is_due(save_every_)) checkpoint();
}

void StepProgram::evaluate() {
  const std::uint64_t before = shape_;
  if (evaluates_other_shape_) shape_ = 5;
  for (int batch = 0; batch < evaluation_; ++batch) {
    if (has_input_) input();
    if (structure_ == Structure::kGraph)
      for (int i = 0; i < kernels_; ++i) launch("f" + std::to_string(i), shape_);
    else
      forward();
    launch("metric", 4);
  }
  read("evaluation");
  shape_ = before;
}

void StepProgram::checkpoint() {
  for (int i = 0; i < copies_; ++i) {
    if (structure_ == Structure::kSharded && saves_sharded_) collective("gather whole", 2 * kActivations);
    add(StepToken::kSync, "save", 0, 60);
  }
}

void StepProgram::start_up() {
  for (int i = between(0, 200); i > 0; --i) {
    launch("initial", static_cast<std::uint64_t>(between(1, 64)));
    if (chance(0.2)) add(StepToken::kInput, "to device", 0, 5);
    if (chance(0.05)) add(StepToken::kSync, "start", 0, 40);
  }
}

void StepProgram::prompt() {
  input();
  for (int i = 0; i < layers_; ++i)
    for (int j = 0; j < kernels_; ++j) launch("p" + std::to_string(j), static_cast<std::uint64_t>(between(2, 400)));
  launch("sample", 4);
  add(StepToken::kCopy, "from device", 0, 4);
  add(StepToken::kSync, "token", 0, 60);
}

void StepProgram::one_token() {
  if (graph_prompts_)
    add(StepToken::kGraph, "token", 0, 8);
  else
    for (int i = 0; i < layers_; ++i) layer("f", i);
  launch("sample", 4);
  add(StepToken::kCopy, "from device", 0, 4);
  add(StepToken::kSync, "token", 0, 60);
}

void StepProgram::decode() {
  graph_prompts_ = chance(0.5);
  two_shapes_ = false;
  while (tokens.size() < kMostTokens / 2) {
    prompt();
    marks_ns_.push_back(at_ns_);
    for (int i = between(4, 120); i > 0; --i) {
      one_token();
      end_step();
    }
  }
}

void StepProgram::end_step() { marks_ns_.push_back(at_ns_); }

void StepProgram::cut_out(std::size_t begin, std::size_t end) {
  tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end));
}

// What a recording misses: its begin, its end, or what lay in between.
void StepProgram::disturb() {
  const auto some = [this](double most) {
    return static_cast<std::size_t>(most * static_cast<double>(tokens.size()) *
                                    std::uniform_real_distribution<double>(0, 1)(random_));
  };
  if (chance(0.3)) cut_out(0, some(0.3));
  if (chance(0.3)) cut_out(tokens.size() - some(0.3), tokens.size());
  has_gaps = chance(0.15);
  for (int i = between(1, 4); has_gaps && i > 0; --i) {
    const std::size_t begin = some(0.9);
    const std::size_t end = std::min(begin + some(0.05), tokens.size() - 1);
    std::erase_if(marks_ns_, [&](double ns) { return ns >= tokens[begin].begin_ns && ns <= tokens[end].begin_ns; });
    cut_out(begin, end);
  }
  text += has_gaps ? " gaps" : "";
}

}  // namespace hostprobe::test
