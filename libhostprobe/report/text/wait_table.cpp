// wait_table.cpp: see wait_table.h.
#include "wait_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "answer/wait.h"
#include "report/columns.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr double kDetailPct = 1.0;  // of its threads' lives, from which on a wait is shown in more detail
constexpr double kLeastPlacePct = 5;
constexpr std::size_t kMostPlaces = 2;
constexpr std::size_t kShortWakers = 3;

// The main thread's first; what others wait for is mostly what they are there for.
std::vector<const WaitSite*> ordered_sites(const ProcessAnswer& process) {
  std::vector<const WaitSite*> sites;
  for (const WaitSite& site : process.waits) sites.push_back(&site);
  std::stable_sort(sites.begin(), sites.end(), [](const WaitSite* l, const WaitSite* r) {
    return (l->role == Role::kMain) > (r->role == Role::kMain);
  });
  return sites;
}

void note_open(const ProcessAnswer& process, const WaitSite& site, TextTable& table) {
  if (site.open == 0) return;
  const ThreadAnswer* longest = nullptr;
  for (const ThreadAnswer& thread : process.threads) {
    if (!thread.open_wait || thread.role != site.role || thread.open_wait->function != site.function) continue;
    if (longest == nullptr || thread.open_wait->ms > longest->open_wait->ms) longest = &thread;
  }
  if (longest == nullptr || longest->open_wait->ms < 1) return;
  const bool now = process.end == EndState::kRunning;
  const std::string python = longest->open_wait->python;
  const std::string since = ms_text(longest->open_wait->ms);
  const std::string who = site.open == 1 ? fmt::format("1 thread {} in it {}, for {}", now ? "is" : "was",
                                                       now ? "now" : "at the end", since)
                                         : fmt::format("{} threads {} in it {}, the longest for {}", site.open,
                                                       now ? "are" : "were", now ? "now" : "at the end", since);
  table.add_note(who + (python.empty() ? "" : ", in " + printable(python)));
}

void note_places(const std::vector<WaitPlace>& places, double all_ms, const char* of_what, TextTable& table) {
  std::size_t shown = 0;
  for (const WaitPlace& place : places) {
    const double pct = all_ms <= 0 ? 0 : std::min(100.0, 100.0 * place.total_ms / all_ms);
    if (shown++ == kMostPlaces || pct < kLeastPlacePct) break;
    table.add_note("in " + shortened_place(place.text, 120) +
                   (pct > 99.5 ? "" : fmt::format(" · {:.0f}{}", pct, of_what)));
  }
}

void note_detail(const WaitSite& site, TextTable& table) {
  if (const double ms = site.ms_for(WaitPurpose::kGil); ms > 0)
    table.add_note(fmt::format("for Python's interpreter lock (GIL): {}", ms_text(ms)));
  // Code that Python's own lock functions stand for says nothing; its frames do.
  const bool python_waits = !site.python.empty() && site.in_python;
  if (!python_waits) note_places(site.code, 1e-6 * site.time.total_ns(), " % of it", table);
  note_places(site.python, site.sampled_ms, " % of the sampled time", table);
}

void add_site(const WaitSite& site, TextTable& table) {
  const bool any = site.time.count() > 0;
  const auto percentile = [&](double percent) {
    return any ? duration_text(site.time.percentile_ns(percent)) : std::string("-");
  };
  table.add({site.function, site.library, role_name(site.role), compact(site.time.count()), ms_text(site.own_ms),
             fmt::format("{:.1f}", site.share_pct), percentile(50), percentile(99),
             any ? duration_text(site.time.max_ns()) : "-"});
}

std::string waker_text(const KernelWaker& waker) {
  const std::string name = waker.name.empty() ? "?" : printable(waker.name);
  if (!waker.interrupt) return fmt::format("{} (pid {})", name, waker.pid);
  return waker.name.empty() ? "an interrupt" : "the interrupt " + name;
}

// By the kernel's own records.
std::string kernel_wakers_text(const WaitSite& site) {
  std::vector<std::pair<std::uint64_t, KernelWaker>> wakers;
  for (const auto& [waker, count] : site.kernel_wakers) wakers.push_back({count, waker});
  std::stable_sort(wakers.begin(), wakers.end(), [](const auto& l, const auto& r) { return l.first > r.first; });
  std::string text =
      fmt::format("{} of {}: the kernel saw it ended by", printable(site.function), role_name(site.role));
  for (std::size_t k = 0; k < std::min(wakers.size(), kShortWakers); ++k)
    text += fmt::format("{} {} × {}", k == 0 ? "" : ",", waker_text(wakers[k].second), grouped(wakers[k].first));
  if (wakers.size() > kShortWakers) text += fmt::format(" and {} more (--json)", wakers.size() - kShortWakers);
  return text;
}

}  // namespace

std::string wait_table(const ProcessAnswer& process, std::size_t most, bool places, std::size_t width) {
  const std::vector<const WaitSite*> sites = ordered_sites(process);
  TextTable table({{.heading = "function", .is_name = true, .least = 14},
                   {.heading = "called from", .is_name = true, .spare = 4, .least = 10},
                   {.heading = "thread", .is_name = true, .least = 6},
                   {.heading = "count"},
                   {.heading = "waited"},
                   {.heading = "% of life"},
                   {.heading = "p50", .spare = 2},
                   {.heading = "p99", .spare = 1},
                   {.heading = "max", .spare = 3}});
  const std::size_t shown = std::min(sites.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    add_site(*sites[i], table);
    note_open(process, *sites[i], table);
    if (places && sites[i]->share_pct >= kDetailPct) note_detail(*sites[i], table);
  }
  return table.text(width) + more_text(shown, sites.size());
}

std::string wake_table(const ProcessAnswer& process, std::size_t most, std::size_t width) {
  const std::vector<const WaitSite*> sites = ordered_sites(process);
  TextTable table({{.heading = "function", .is_name = true, .least = 14},
                   {.heading = "called from", .is_name = true, .spare = 1, .least = 10},
                   {.heading = "thread", .is_name = true, .least = 6},
                   {.heading = "woken"},
                   {.heading = "p50"},
                   {.heading = "p99"},
                   {.heading = "max"},
                   {.heading = "woken by", .is_name = true}});
  std::string kernel;
  for (std::size_t i = 0; i < std::min(sites.size(), most); ++i) {
    const WaitSite& site = *sites[i];
    if (site.wake.count() > 0)
      table.add({site.function, site.library, role_name(site.role), compact(site.wake.count()),
                 duration_text(site.wake.percentile_ns(50)), duration_text(site.wake.percentile_ns(99)),
                 duration_text(site.wake.max_ns()), site.wakers.empty() ? "unknown" : role_name(site.main_waker())});
    if (!site.kernel_wakers.empty()) kernel += wrapped(kernel_wakers_text(site), "  ", "    ", width);
  }
  return table.text(width) + kernel;
}

std::string heaviest_wait_text(const ProcessAnswer& process) {
  const std::vector<const WaitSite*> sites = ordered_sites(process);
  if (sites.empty()) return "-";
  const WaitSite& site = *sites.front();
  return fmt::format("{:.0f} % {}", site.share_pct, site.python.empty() ? site.function : site.python.front().text);
}

}  // namespace hostprobe::analysis
