// doctor.cpp: `hostprobe doctor`.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "layout.h"
#include "output.h"
#include "recorder/doctor.h"
#include "report/json_text.h"

namespace hostprobe::cli {
namespace {

using analysis::JsonValue;
using kernel::Finding;
using kernel::Health;

struct DoctorArguments {
  bool json = false, all = false;
};

std::string as_text(const std::vector<Finding>& findings, const std::string& probe, bool all) {
  std::string text;
  std::size_t good = 0;
  for (const Finding& one : findings) {
    good += one.health == Health::kGood;
    if (one.health == Health::kGood && !all) continue;
    text += fmt::format("{:<8} {:<14} {}\n{:24}{}\n", kernel::health_name(one.health), one.name, one.what, "", one.why);
    if (!one.todo.empty()) text += fmt::format("{:24}to do: {}\n", "", one.todo);
  }
  text += fmt::format("{} of {} good{}\n", good, findings.size(), all || good == 0 ? "" : "; --all shows them too");
  // Which processes record is a question to them, not to the machine.
  return text +
         fmt::format("does a program record, and if not why: HOSTPROBE_VERBOSE=1 LD_PRELOAD={} PROGRAM\n", probe);
}

std::string as_json(const std::vector<Finding>& findings, const kernel::MachineFacts& facts) {
  JsonValue list = JsonValue::array();
  for (const Finding& one : findings)
    list.push_back({{"name", one.name},
                    {"health", kernel::health_name(one.health)},
                    {"what", one.what},
                    {"why", one.why},
                    {"do", one.todo.empty() ? JsonValue(nullptr) : JsonValue(one.todo)}});
  const JsonValue json = {{"schema", 1}, {"swept", facts.swept}, {"findings", list}};
  return json_text(json, 1);
}

int examine(const DoctorArguments& arguments) {
  const std::string probe = place_of_probe_library();  // before anything is mounted for a look
  const kernel::MachineFacts facts = kernel::look_at_machine(probe);
  const std::vector<Finding> findings = kernel::judge(facts);
  if (arguments.json)
    write_json(as_json(findings, facts));
  else
    write_out(as_text(findings, probe, arguments.all));
  return kDone;
}

}  // namespace

Command doctor_command() {
  auto arguments = std::make_shared<DoctorArguments>();
  return {
      .name = "doctor",
      .summary = "Says what this machine or container lets hostprobe do, and what to change.",
      .options = {{.names = "--json", .target = &arguments->json, .meaning = "One document for scripts"},
                  {.names = "--all", .target = &arguments->all, .meaning = "Also what is good"}},
      .notes =
          "Run it as the user, and in the container, of the job: it reports what they may do. As root it also removes "
          "what\n"
          "killed recordings of `hostprobe sched` left in tracefs, because that slows the whole machine. It changes "
          "nothing "
          "else.\n"
          "Exit 0 when it could look, whatever it found.\n"
          "Examples:\n  hostprobe doctor\n  hostprobe doctor --all\n  hostprobe doctor --json | jq '.findings[] | "
          "select(.health != \"good\")'",
      .run = [arguments](const Words&) { return examine(*arguments); }};
}

}  // namespace hostprobe::cli
