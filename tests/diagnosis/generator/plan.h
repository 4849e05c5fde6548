// What a generated program does, as draw.py writes it: lines of a key and its value, and a line `deed key=value …` for each thing that
// is done beside launching kernels, healthy or not. A program does not know which of them is the fault.
#pragma once
#include <string>
#include <vector>

struct Deed {
  std::string where;     // it is done: a moment of the step, or a thread
  std::string how;       // one of deed.cpp
  std::string function;  // in this one
  double us = 0;
  long bytes = 0;
  int every = 1;     // steps
  int chance = 100;  // per cent of these steps, the same ones in each run
  int rank = -1;     // the one that does it; -1: all
  int rotate = 0;    // 1: the ranks take turns, step by step

  bool is_due(int step, int own_rank, int ranks) const;
};

struct Kernel {
  std::string name;
  double us;
};

struct Plan {
  // single, data, sharded, pipeline, tensor, decode
  std::string structure = "single";
  int ranks = 1, steps = 100, layers = 4, micro_batches = 1, vary = 0;
  std::vector<Kernel> kernels;  // the last one is the optimizer's
  std::vector<int> layer_kernels;
  int optimizer_kernels = 1;
  int graph = 0;    // each layer's kernels as a CUDA graph
  int overlap = 1;  // communication beside work that does not need it
  int one_f_one_b = 0;
  int message_kb = 64, gradient_kb = 1024, buckets = 2, parameter_kb = 256;
  std::string sync = "auto";  // auto, spin, yield, block
  int run_ahead = 0;          // steps; 0: the host waits at each step's end
  int loss_every = 1;         // steps between reads of the loss; 0: never
  int eval_every = 0, checkpoint_every = 0, checkpoint_kb = 256;
  int marks = 0;
  std::string loader = "none";  // none, threads, processes
  int loaders = 1, queue = 4, batch_kb = 16, copy_stream = 0;
  std::string hand_over = "condition";  // condition, semaphore, pipe
  int producer_lead = 0;                // products that may wait; 0: no producer
  std::string holder = "none";          // of a lock: none, triggered, periodic
  std::string lock = "mutex";           // mutex, read_write
  std::string lock_at = "step";         // where the step takes it
  double holder_rest_us = 1000, burner_rest_us = 1000;
  int burners = 0, hand_overs = 0;
  int port = 0;  // of a service on this machine that is no part of the job
  std::string main_name, loader_name = "t", producer_name = "t", holder_name = "t", burner_name = "t",
                         writer_name = "t", partner_name = "t";
  std::string take_function, product_function, lock_function, wait_function, read_function, save_function,
      partner_function;
  double iterations_per_us = 300;
  std::vector<Deed> deeds;
};

Plan read_plan(const char* path);
