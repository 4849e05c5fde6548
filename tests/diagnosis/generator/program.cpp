// A training program of a drawn plan: program PLAN. Starts a process for each rank. --check PLAN reads it only, --calibrate prints how
// much this machine computes.
#include "../../../examples/launcher.h"
#include "named_call.h"
#include "plan.h"
#include "trainer.h"

#include <sys/prctl.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int train(const Plan& plan, int rank) {
  if (!plan.main_name.empty()) prctl(PR_SET_NAME, plan.main_name.c_str());
  Trainer trainer(plan, rank);
  const double ms = trainer.run();
  if (rank == 0) printf("step ms: count %d mean %.4f\n", plan.steps, ms);
  return 0;
}

// Each deed has a function, and each function that the plan names is there.
int check(const Plan& plan) {
  for (const Deed& deed : plan.deeds) find_named_call(deed.function);
  for (const std::string& function : {plan.take_function, plan.product_function, plan.lock_function, plan.wait_function,
                                      plan.read_function, plan.save_function, plan.partner_function})
    find_named_call(function);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--check") == 0) return check(read_plan(argv[2]));
  if (argc != 2) {
    fprintf(stderr, "usage: program PLAN (as draw.py writes them), program --check PLAN, or program --calibrate\n");
    return 2;
  }
  if (strcmp(argv[1], "--calibrate") == 0) {
    printf("%.1f\n", measure_iterations_per_us());
    return 0;
  }
  const Plan plan = read_plan(argv[1]);
  const char* rank = getenv("RANK");
  if (plan.ranks == 1) return train(plan, 0);
  return rank != nullptr ? train(plan, atoi(rank)) : Launcher(plan.ranks, argv).run();
}
