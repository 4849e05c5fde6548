#include "plan.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {

[[noreturn]] void refuse(const std::string& what) {
  fprintf(stderr, "generated program: %s in the plan.\n", what.c_str());
  exit(2);
}

template <typename Struct, typename Value>
struct Key {
  const char* name;
  Value Struct::*member;
};

constexpr Key<Plan, int> kWhole[] = {
    {"ranks", &Plan::ranks},
    {"steps", &Plan::steps},
    {"layers", &Plan::layers},
    {"micro_batches", &Plan::micro_batches},
    {"vary", &Plan::vary},
    {"optimizer_kernels", &Plan::optimizer_kernels},
    {"graph", &Plan::graph},
    {"overlap", &Plan::overlap},
    {"one_f_one_b", &Plan::one_f_one_b},
    {"message_kb", &Plan::message_kb},
    {"gradient_kb", &Plan::gradient_kb},
    {"buckets", &Plan::buckets},
    {"parameter_kb", &Plan::parameter_kb},
    {"run_ahead", &Plan::run_ahead},
    {"loss_every", &Plan::loss_every},
    {"eval_every", &Plan::eval_every},
    {"checkpoint_every", &Plan::checkpoint_every},
    {"checkpoint_kb", &Plan::checkpoint_kb},
    {"marks", &Plan::marks},
    {"loaders", &Plan::loaders},
    {"queue", &Plan::queue},
    {"batch_kb", &Plan::batch_kb},
    {"copy_stream", &Plan::copy_stream},
    {"producer_lead", &Plan::producer_lead},
    {"burners", &Plan::burners},
    {"hand_overs", &Plan::hand_overs},
    {"port", &Plan::port},
};
constexpr Key<Plan, double> kReal[] = {
    {"holder_rest_us", &Plan::holder_rest_us},
    {"burner_rest_us", &Plan::burner_rest_us},
    {"iterations_per_us", &Plan::iterations_per_us},
};
constexpr Key<Plan, std::string> kText[] = {
    {"structure", &Plan::structure},
    {"sync", &Plan::sync},
    {"loader", &Plan::loader},
    {"hand_over", &Plan::hand_over},
    {"holder", &Plan::holder},
    {"lock", &Plan::lock},
    {"lock_at", &Plan::lock_at},
    {"main_name", &Plan::main_name},
    {"loader_name", &Plan::loader_name},
    {"producer_name", &Plan::producer_name},
    {"holder_name", &Plan::holder_name},
    {"burner_name", &Plan::burner_name},
    {"writer_name", &Plan::writer_name},
    {"partner_name", &Plan::partner_name},
    {"take_function", &Plan::take_function},
    {"product_function", &Plan::product_function},
    {"lock_function", &Plan::lock_function},
    {"wait_function", &Plan::wait_function},
    {"read_function", &Plan::read_function},
    {"save_function", &Plan::save_function},
    {"partner_function", &Plan::partner_function},
};
constexpr Key<Deed, int> kDeedWhole[] = {
    {"every", &Deed::every},
    {"chance", &Deed::chance},
    {"rank", &Deed::rank},
    {"rotate", &Deed::rotate},
};
constexpr Key<Deed, std::string> kDeedText[] = {
    {"where", &Deed::where},
    {"how", &Deed::how},
    {"function", &Deed::function},
};

template <typename Struct, typename Value, size_t count>
bool set(Struct& into, const Key<Struct, Value> (&keys)[count], const std::string& name, std::istream& text) {
  for (const Key<Struct, Value>& key : keys) {
    if (name != key.name) continue;
    if (!(text >> into.*key.member)) refuse("no good value for " + name);
    return true;
  }
  return false;
}

Deed read_deed(std::istream& line) {
  Deed deed;
  std::string word;
  while (line >> word) {
    const size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    std::istringstream value(sign == std::string::npos ? "" : word.substr(sign + 1));
    if (set(deed, kDeedWhole, name, value) || set(deed, kDeedText, name, value)) continue;
    if (name == "us" && value >> deed.us) continue;
    if (name == "bytes" && value >> deed.bytes) continue;
    refuse("no key " + word + " of a deed");
  }
  return deed;
}

bool read_list(Plan& plan, const std::string& name, std::istream& line) {
  if (name == "kernel") {
    Kernel kernel;
    if (!(line >> kernel.name >> kernel.us)) refuse("a bad kernel");
    plan.kernels.push_back(kernel);
  } else if (name == "layer_kernels") {
    for (int kernel; line >> kernel;) plan.layer_kernels.push_back(kernel);
  } else if (name == "deed") {
    plan.deeds.push_back(read_deed(line));
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool Deed::is_due(int step, int own_rank, int ranks) const {
  if (step % every != every - 1 || (rank >= 0 && rank != own_rank)) return false;
  if (rotate != 0 && step / every % ranks != own_rank) return false;
  uint64_t random = (static_cast<uint64_t>(step) + 1) * 0x9e3779b97f4a7c15u;
  random = (random ^ (random >> 30)) * 0xbf58476d1ce4e5b9u;
  return static_cast<int>((random >> 33) % 100) < chance;
}

Plan read_plan(const char* path) {
  Plan plan;
  std::ifstream file(path);
  if (!file) refuse(std::string("cannot open ") + path + ": nothing");
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string name;
    if (!(line >> name) || name[0] == '#') continue;
    if (read_list(plan, name, line)) continue;
    if (set(plan, kWhole, name, line) || set(plan, kReal, name, line) || set(plan, kText, name, line)) continue;
    refuse("no key " + name);
  }
  if (plan.kernels.size() < 2 || plan.layer_kernels.empty()) refuse("no kernels");
  return plan;
}
