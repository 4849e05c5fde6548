// thread_section.cpp: see thread_section.h.
#include "thread_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "amount.h"
#include "chart.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

// What a page shows of a process, and of how many: the document in it has the others.
constexpr std::size_t kMostProcesses = 24, kMostThreads = 10, kMostSites = 6, kMostRunning = 4;

struct Time {
  const char* path;
  const char* words;
  const char* style;
};
constexpr Time kTimes[] = {{"cpu_ms", "running", "running"},
                           {"preempted_ms", "preempted", "preempted"},
                           {"run_queue_ms", "woken, without a CPU", "queued"},
                           {"wait_ms", "waiting", "waiting"},
                           {"unexplained_ms", "not known", "unseen"}};

std::string time_bar(const JsonValue& thread) {
  std::vector<BarPart> parts;
  for (const Time& time : kTimes)
    if (const auto ms = number_in(thread, time.path))
      parts.push_back({time.style, *ms, fmt::format("{} {}", time.words, ms_amount(ms))});
  const auto wall = number_in(thread, "wall_ms");
  return wall ? stacked_bar(parts, *wall, "time of the thread, " + ms_amount(wall)) : "";
}

std::string thread_name(const JsonValue& thread) {
  const std::string runs = text_in(thread, "runs"), name = text_in(thread, "name");
  const std::string words = runs.empty() ? name : name + " (" + runs + ")";
  return words.empty() ? fmt::format("thread {:.0f}", number_in(thread, "tid").value_or(0)) : words;
}

Cell ms_cell(const JsonValue& of, const char* path) {
  const auto ms = number_in(of, path);
  return number_cell(ms_amount(ms), ms);
}

void add_process_threads(const JsonValue& process, Table& table) {
  std::vector<const JsonValue*> threads;
  for (const JsonValue& thread : list_in(process, "threads")) threads.push_back(&thread);
  // The main thread, which is the first, and then who used CPUs most.
  if (threads.size() > 1)
    std::stable_sort(threads.begin() + 1, threads.end(), [](const JsonValue* a, const JsonValue* b) {
      return number_in(*a, "cpu_ms").value_or(0) > number_in(*b, "cpu_ms").value_or(0);
    });
  for (std::size_t i = 0; i < std::min(threads.size(), kMostThreads); ++i) {
    const JsonValue& thread = *threads[i];
    const auto migrations = number_in(thread, "migrations");
    table.row({{.text = who_in(process), .order = number_in(process, "rank")},
               name_cell(thread_name(thread)),
               text_cell(spaced(text_in(thread, "role"))),
               {.order = number_in(thread, "cpu_ms"), .markup = time_bar(thread)},
               ms_cell(thread, "cpu_ms"),
               ms_cell(thread, "preempted_ms"),
               ms_cell(thread, "run_queue_ms"),
               ms_cell(thread, "wait_ms"),
               number_cell(count_amount(migrations), migrations),
               name_cell(text_in(thread, "open_wait.function"))},
              number_in(process, "rank"));
  }
}

std::string place_of_wait(const JsonValue& site) {
  for (const char* path : {"python", "callers"})
    if (const auto& places = list_in(site, path); !places.empty()) return text_in(places[0], "text");
  return "";
}

void add_process_waits(const JsonValue& process, Table& table) {
  const auto& sites = list_in(process, "waits");
  for (std::size_t i = 0; i < std::min(sites.size(), kMostSites); ++i) {
    const JsonValue& site = sites[i];
    const auto us = [&site](const char* path) {
      const auto value = number_in(site, path);
      return number_cell(us_amount(value), value);
    };
    const auto count = number_in(site, "count"), share = number_in(site, "share_pct");
    table.row({{.text = who_in(process), .order = number_in(process, "rank")},
               name_cell(text_in(site, "function")),
               name_cell(place_of_wait(site)),
               name_cell(text_in(site, "library")),
               text_cell(spaced(text_in(site, "role"))),
               number_cell(pct_amount(share), share),
               ms_cell(site, "own_ms"),
               number_cell(count_amount(count), count),
               us("p50_us"),
               us("p99_us"),
               us("wake.p99_us")},
              number_in(process, "rank"));
  }
}

void add_process_running(const JsonValue& process, Table& table) {
  for (const JsonValue& thread : list_in(process, "threads"))
    for (const char* kind : {"running", "running_code"}) {
      const auto& rows = list_in(thread, kind);
      for (std::size_t i = 0; i < std::min(rows.size(), kMostRunning); ++i) {
        const JsonValue& row = rows[i];
        const std::string file = text_in(row, "file"), library = text_in(row, "library");
        const auto line = number_in(row, "line");
        std::string place = file.empty() ? library : file;
        if (line) place += fmt::format(":{:.0f}", *line);
        const auto samples = number_in(row, "samples");
        table.row({{.text = who_in(process), .order = number_in(process, "rank")},
                   name_cell(thread_name(thread)),
                   name_cell(text_in(row, "function")),
                   name_cell(place),
                   ms_cell(row, "cpu_ms"),
                   ms_cell(row, "ms_per_step"),
                   number_cell(count_amount(samples), samples)},
                  number_in(process, "rank"));
      }
    }
}

std::string quota_of(const JsonValue& process) {
  const auto throttled = number_in(process, "quota.throttled_ms"), cpus = number_in(process, "quota.cpus");
  if (!throttled) return "–";
  return ms_amount(throttled) + (cpus ? fmt::format(" of {:.3g} CPUs", *cpus) : "");
}

std::string neighbours_of(const JsonValue& process) {
  std::string text;
  const auto& neighbours = list_in(process, "neighbours");
  for (std::size_t i = 0; i < std::min<std::size_t>(neighbours.size(), 3); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", text_in(neighbours[i], "comm"),
                        ms_amount(number_in(neighbours[i], "took_ms")));
  return text;
}

void add_process_machine(const JsonValue& process, Table& table) {
  const JsonValue& machine = member(process, "machine");
  const JsonValue& frequency = member(process, "frequency");
  const std::string neighbours = neighbours_of(process);
  const auto cpus = number_in(process, "cpus"), throttled = number_in(process, "quota.throttled_ms");
  if (machine.is_null() && frequency.is_null() && neighbours.empty() && !throttled && !cpus) return;
  const auto ghz = number_in(frequency, "median_ghz");
  std::string slow;
  for (const JsonValue& cpu : list_in(frequency, "cpus"))
    if (flag_in(cpu, "slow"))
      slow += fmt::format("{}CPU {:.0f} {:.2f} GHz", slow.empty() ? "" : ", ", number_in(cpu, "cpu").value_or(0),
                          number_in(cpu, "median_ghz").value_or(0));
  table.row({{.text = who_in(process), .order = number_in(process, "rank")},
             name_cell(text_in(process, "host")),
             number_cell(count_amount(cpus), cpus),
             number_cell(ghz ? fmt::format("{:.2f} GHz", *ghz) : "–", ghz),
             text_cell(slow),
             ms_cell(machine, "steal_ms"),
             ms_cell(machine, "hard_irq_ms"),
             ms_cell(machine, "soft_irq_ms"),
             ms_cell(machine, "pressure.cpu_some_ms"),
             ms_cell(machine, "pressure.memory_some_ms"),
             ms_cell(machine, "pressure.io_some_ms"),
             number_cell(quota_of(process), throttled),
             name_cell(neighbours)},
            number_in(process, "rank"));
}

Table thread_table() {
  return {
      "What each thread did with its time",
      {{.title = "Process"},
       {.title = "Thread", .is_number = false},
       {.title = "Role", .is_number = false},
       {.title = "Its life", .hint = "Running, preempted, woken without a CPU, waiting, not known", .is_number = false},
       {.title = "CPU"},
       {.title = "Preempted"},
       {.title = "Run queue", .hint = "From a wake to running again"},
       {.title = "Waiting"},
       {.title = "Moves", .hint = "To another CPU"},
       {.title = "In it at the end", .is_number = false}}};
}

Table wait_table() {
  return {"Where threads waited",
          {{.title = "Process"},
           {.title = "Call", .is_number = false},
           {.title = "From", .is_number = false},
           {.title = "Library", .is_number = false},
           {.title = "Role", .is_number = false},
           {.title = "Of its life"},
           {.title = "Waited"},
           {.title = "Count"},
           {.title = "Median"},
           {.title = "p99"},
           {.title = "Woken late, p99"}}};
}

Table running_table() {
  return {"What CPU time went into, by samples",
          {{.title = "Process"},
           {.title = "Thread", .is_number = false},
           {.title = "Function", .is_number = false},
           {.title = "At", .is_number = false},
           {.title = "CPU"},
           {.title = "A step"},
           {.title = "Samples"}}};
}

Table machine_table() {
  return {"What the machine took meanwhile",
          {{.title = "Process"},
           {.title = "Host", .is_number = false},
           {.title = "CPUs", .hint = "That it may use"},
           {.title = "Frequency"},
           {.title = "Slower CPUs", .is_number = false},
           {.title = "Stolen"},
           {.title = "Interrupts"},
           {.title = "Soft interrupts"},
           {.title = "CPU pressure"},
           {.title = "Memory pressure"},
           {.title = "Disk pressure"},
           {.title = "Throttled", .hint = "By the CPU quota of its group"},
           {.title = "Neighbours", .is_number = false}}};
}

// All of them; of many those that findings name, and then the first ones.
std::vector<const JsonValue*> shown_processes(const JsonValue& document) {
  std::vector<const JsonValue*> shown;
  const auto add = [&shown](const JsonValue* process) {
    if (process != nullptr && shown.size() < kMostProcesses &&
        std::find(shown.begin(), shown.end(), process) == shown.end())
      shown.push_back(process);
  };
  const auto& processes = list_in(document, "processes");
  if (processes.size() > kMostProcesses)
    for (const JsonValue& finding : list_in(document, "findings")) add(process_in(document, finding));
  for (const JsonValue& process : processes) add(&process);
  return shown;
}

}  // namespace

void add_threads(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "threads"}}).element("h2", "CPUs and threads");
  const std::vector<const JsonValue*> shown = shown_processes(document);
  if (const std::size_t all = list_in(document, "processes").size(); all > shown.size())
    page.element("p", fmt::format("{} of {} processes; the document in this page has all.", shown.size(), all));
  Table threads = thread_table(), waits = wait_table(), running = running_table(), machine = machine_table();
  for (const JsonValue* process : shown) {
    add_process_threads(*process, threads);
    add_process_waits(*process, waits);
    add_process_running(*process, running);
    add_process_machine(*process, machine);
  }
  threads.write(page, "No thread was seen.");
  page.open("ul", {{"class", "legend"}});
  for (const Time& time : kTimes)
    page.open("li")
        .empty("span", {{"class", std::string("swatch ") + time.style}})
        .markup("</span>")
        .text(time.words)
        .close();
  page.close();
  waits.write(page, "No wait was seen.");
  running.write(page, "No thread was sampled while it ran.");
  machine.write(page, "The machine's own times were not recorded.");
  page.close();
}

}  // namespace hostprobe::analysis
