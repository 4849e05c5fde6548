#include "trainer.h"

#include "hostprobe/hostprobe.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

Trainer::Trainer(const Plan& plan, int rank)
    : plan_(plan),
      rank_(rank),
      loader_(Loader::make(plan, rank)),
      device_(plan, rank),
      ranks_(plan, rank),
      at_step_(plan, "step", rank, &device_),
      at_input_(plan, "input", rank, &device_),
      at_micro_batch_(plan, "micro_batch", rank, &device_),
      at_layer_(plan, "layer", rank, &device_),
      at_kernel_(plan, "kernel", rank, &device_),
      at_backward_(plan, "backward", rank, &device_),
      at_end_(plan, "end", rank, &device_),
      take_(find_named_call(plan.take_function)),
      product_(find_named_call(plan.product_function)),
      lock_(find_named_call(plan.lock_function)),
      wait_(find_named_call(plan.wait_function)),
      read_(find_named_call(plan.read_function)),
      save_(find_named_call(plan.save_function)) {
  activations_ = device_.allocate(message_bytes());
  gradients_ = device_.allocate(static_cast<size_t>(plan.gradient_kb) << 10);
  shard_ = device_.allocate(static_cast<size_t>(plan.parameter_kb) << 10);
  ready_ = device_.make_event();
  gathered_ = device_.make_event();
  reduced_ = device_.make_event();
  for (int i = 0; i <= plan.run_ahead; ++i) ends_.push_back(device_.make_event());
  if (plan.producer_lead > 0) producer_.emplace(plan, rank);
  if (plan.holder != "none") holder_.emplace(plan, rank);
  if (plan.hand_overs > 0) partner_.emplace(plan, rank);
  if (plan.checkpoint_every > 0 && rank == 0) writer_.emplace(plan);
  if (plan.burners > 0) burners_.emplace(plan, rank);
}

double Trainer::run() {
  using Clock = std::chrono::steady_clock;
  const int warm = plan_.steps / 10;
  Clock::time_point begin;
  ranks_.all_reduce(activations_, sizeof(float), device_.compute);
  device_.synchronize();
  for (int number = 0; number < plan_.steps; ++number) {
    if (number == warm) {
      device_.synchronize();
      begin = Clock::now();
    }
    step(number);
    if (plan_.marks != 0) hostprobe_step(static_cast<uint64_t>(number));
  }
  device_.synchronize();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / (plan_.steps - warm);
}

void Trainer::step(int number) {
  take_input(number);
  compute(number);
  finish(number);
  evaluate(number);
}

void Trainer::take_input(int number) {
  if (holder_ && plan_.lock_at == "step") {
    call_in(lock_, [this] { holder_->lock(); });
    holder_->unlock();
  }
  at_step_.perform(number);
  if (producer_) {
    Content product;
    call_in(product_, [&] { product = producer_->take(); });
    if (product.front() != static_cast<uint32_t>(number))
      fprintf(stderr, "generated program: a wrong product.\n"), exit(1);
  }
  Content batch;
  call_in(take_, [&] { batch = loader_->take(number); });
  if (batch.front() != static_cast<uint32_t>(number)) fprintf(stderr, "generated program: a wrong batch.\n"), exit(1);
  at_input_.perform(number);
  device_.copy_batch(batch.data(), batch.size() * sizeof batch[0]);
}

void Trainer::compute(int number) {
  if (is("pipeline") && plan_.ranks > 1) {
    run_pipeline(number);
  } else if (is("decode")) {
    at_micro_batch_.perform(number);
    forward(number, true);
  } else {
    run_data_parallel(number);
  }
  device_.run_optimizer();
}

void Trainer::finish(int number) {
  at_end_.perform(number);
  if (holder_) holder_->trigger();
  const auto kept = static_cast<size_t>(plan_.run_ahead) + 1;
  device_.record(ends_[static_cast<size_t>(number) % kept], device_.compute);
  if (is_due(number, plan_.loss_every)) call_in(read_, [this] { device_.read_loss(); });
  if (plan_.run_ahead == 0)
    call_in(wait_, [this] { device_.synchronize(); });
  else if (number >= plan_.run_ahead)
    call_in(wait_, [&] { device_.wait_for(ends_[static_cast<size_t>(number + 1) % kept]); });
}

// Gradients are reduced during the last backward pass, bucket by bucket, or behind it.
void Trainer::run_data_parallel(int number) {
  for (int i = 0; i < plan_.micro_batches; ++i) {
    at_micro_batch_.perform(number);
    forward(number, true);
    at_backward_.perform(number);
    backward(number, i == plan_.micro_batches - 1);
  }
  if (plan_.ranks == 1 || is("tensor")) return;
  if (is("data") && plan_.overlap == 0)
    for (int bucket = 0; bucket < plan_.buckets; ++bucket) reduce(bucket, plan_.buckets, false);
  device_.record(reduced_, device_.communication);
  device_.order(device_.compute, reduced_);
}

void Trainer::run_layer(int number, int times) {
  at_layer_.perform(number);
  if (holder_ && plan_.lock_at == "layer") {
    call_in(lock_, [this] { holder_->lock(); });
    holder_->unlock();
  }
  device_.run_layer(times, [this, number] {
    at_kernel_.perform(number);
    for (int i = 0; i < plan_.hand_overs; ++i) partner_->do_one();
  });
}

void Trainer::forward(int number, bool trains) {
  const bool shards = is("sharded") && plan_.ranks > 1;
  if (shards) {
    device_.record(ready_, device_.compute);
    device_.order(device_.communication, ready_);
    gather(0);
  }
  // As text is generated: a step's length depends on what came before it.
  const int times =
      plan_.vary == 0 || !trains ? 1 : 1 + static_cast<int>(static_cast<unsigned>(number) * 2654435761u >> 16) % 3;
  for (int layer = 0; layer < plan_.layers; ++layer) {
    if (shards) await_gathered();
    if (shards && layer + 1 < plan_.layers) gather(layer + 1);
    run_layer(number, times);
    if (is("tensor") || is("decode")) ranks_.all_reduce(activations_, message_bytes(), device_.compute);
  }
}

void Trainer::backward(int number, bool last) {
  const bool shards = is("sharded") && plan_.ranks > 1, reduces = is("data") && last && plan_.overlap != 0;
  if (shards) gather(0);
  for (int layer = 0; layer < plan_.layers; ++layer) {
    if (shards) await_gathered();
    if (shards && layer + 1 < plan_.layers) gather(layer + 1);
    run_layer(number, 2);
    if (is("tensor")) ranks_.all_reduce(activations_, message_bytes(), device_.compute);
    if (shards) reduce(layer, plan_.layers, true);
    const int done = plan_.buckets * (layer + 1) / plan_.layers, before = plan_.buckets * layer / plan_.layers;
    for (int bucket = before; reduces && bucket < done; ++bucket) reduce(bucket, plan_.buckets, false);
  }
}

// The parameters of a layer, while the layer before it computes.
void Trainer::gather(int layer) {
  CUstream stream = plan_.overlap != 0 ? device_.communication : device_.compute;
  ranks_.all_gather(shard_, gradients_, static_cast<size_t>(plan_.parameter_kb) << 10, stream);
  device_.record(gathered_, stream);
}

void Trainer::await_gathered() { device_.order(device_.compute, gathered_); }

void Trainer::reduce(int bucket, int buckets, bool scatters) {
  CUstream stream = plan_.overlap != 0 ? device_.communication : device_.compute;
  if (plan_.overlap != 0) {
    device_.record(ready_, device_.compute);
    device_.order(stream, ready_);
  }
  const size_t bytes = (static_cast<size_t>(plan_.gradient_kb) << 10) / static_cast<size_t>(buckets) / 256 * 256;
  if (scatters)
    ranks_.reduce_scatter(gradients_, shard_, static_cast<size_t>(plan_.parameter_kb) << 10, stream);
  else
    ranks_.all_reduce(gradients_ + static_cast<size_t>(bucket) * bytes, bytes, stream);
}

void Trainer::receive_forward() {
  if (rank_ > 0) ranks_.receive(activations_, message_bytes(), rank_ - 1, device_.compute);
}

void Trainer::send_backward() {
  if (rank_ > 0) ranks_.send(activations_, message_bytes(), rank_ - 1, device_.compute);
}

void Trainer::exchange(bool sends, bool receives, int with) {
  if (with < 0 || with >= plan_.ranks) return;
  ranks_.begin_group();
  if (sends) ranks_.send(activations_, message_bytes(), with, device_.compute);
  if (receives) ranks_.receive(activations_, message_bytes(), with, device_.compute);
  ranks_.end_group();
}

// One forward, one backward, behind as many forward ones as fill the pipeline; or all forward ones first.
void Trainer::run_pipeline(int number) {
  const int all = plan_.micro_batches, filling = plan_.ranks - rank_ - 1;
  const int warm = plan_.one_f_one_b == 0 || filling > all ? all : filling;
  for (int i = 0; i < warm; ++i) {
    at_micro_batch_.perform(number);
    receive_forward();
    forward(number, true);
    exchange(true, false, rank_ + 1);
  }
  if (warm < all) receive_forward();
  for (int i = warm; i < all; ++i) {
    at_micro_batch_.perform(number);
    forward(number, true);
    exchange(true, true, rank_ + 1);
    at_backward_.perform(number);
    backward(number, false);
    if (i == all - 1)
      send_backward();
    else
      exchange(true, true, rank_ - 1);
  }
  for (int i = 0; i < warm; ++i) {
    at_backward_.perform(number);
    exchange(false, true, rank_ + 1);
    backward(number, false);
    send_backward();
  }
}

void Trainer::evaluate(int number) {
  if (is_due(number, plan_.eval_every) && !is("pipeline")) {
    forward(number, false);
    call_in(read_, [this] { device_.read_loss(); });
  }
  if (writer_ && is_due(number, plan_.checkpoint_every))
    call_in(save_, [this] { writer_->write(device_.read_parameters(static_cast<size_t>(plan_.checkpoint_kb) << 10)); });
}
