// frequency.cpp: see frequency.h.
#include "frequency.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "format/frequency.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFewest = 5;  // of a CPU, and in a drop

template <typename OnRow>
void for_each_row(const Trace& trace, OnRow on_row) {
  for (const BlockBytes& block : trace.frequency)
    for (std::uint64_t at = 0; at + sizeof(FrequencyRow) <= block.count; at += sizeof(FrequencyRow)) {
      FrequencyRow row;
      std::memcpy(&row, block.bytes + at, sizeof row);
      on_row(row);
    }
}

double quantile(std::vector<double> all, double part) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), at, all.end());
  return *at;
}

std::vector<double> values(const std::vector<FrequencySample>& samples) {
  std::vector<double> ghz;
  for (const FrequencySample& one : samples) ghz.push_back(one.ghz);
  return ghz;
}

// The others' median is that of their medians, so that a CPU that was measured often is one of many all the same.
void mark_slow(std::vector<CpuFrequency>& cpus) {
  for (CpuFrequency& one : cpus) {
    std::vector<double> others;
    for (const CpuFrequency& other : cpus)
      if (&other != &one && other.samples >= kFewest) others.push_back(other.median_ghz);
    one.is_slow = one.samples >= kFewest && !others.empty() && one.median_ghz < kSlowBelow * quantile(others, 0.5);
  }
}

std::vector<CpuFrequency> by_cpu(const std::vector<FrequencySample>& samples) {
  std::map<std::uint32_t, std::vector<double>> all;
  for (const FrequencySample& one : samples) all[one.cpu].push_back(one.ghz);
  std::vector<CpuFrequency> cpus;
  for (const auto& [cpu, ghz] : all) cpus.push_back({cpu, ghz.size(), quantile(ghz, 0.5), false});
  mark_slow(cpus);
  return cpus;
}

// Of the thread that was measured most: others may run elsewhere, now and then.
std::vector<FrequencySample> of_one_thread(const std::vector<FrequencySample>& samples) {
  std::map<std::uint32_t, std::vector<FrequencySample>> threads;
  for (const FrequencySample& one : samples) threads[one.tid].push_back(one);
  const auto most = std::max_element(threads.begin(), threads.end(),
                                     [](const auto& l, const auto& r) { return l.second.size() < r.second.size(); });
  return most == threads.end() ? std::vector<FrequencySample>{} : most->second;
}

std::optional<FrequencyDrop> find_drop(const std::vector<FrequencySample>& samples) {
  const std::vector<FrequencySample> smooth = smoothed(of_one_thread(samples));
  double best = 0;
  for (const FrequencySample& one : smooth) best = std::max(best, one.ghz);
  std::optional<FrequencyDrop> longest;
  for (std::size_t i = 0; i < smooth.size();) {
    std::size_t end = i;
    while (end < smooth.size() && smooth[end].ghz < kSlowBelow * best) ++end;
    if (end - i >= kFewest) {
      const std::vector<FrequencySample> part(smooth.begin() + static_cast<std::ptrdiff_t>(i),
                                              smooth.begin() + static_cast<std::ptrdiff_t>(end));
      const FrequencyDrop drop{part.front().at_ns, part.back().at_ns, quantile(values(part), 0.5), best,
                               part.front().tid};
      if (!longest || drop.end_ns - drop.begin_ns > longest->end_ns - longest->begin_ns) longest = drop;
    }
    i = std::max(i + 1, end);
  }
  return longest;
}

}  // namespace

std::vector<FrequencySample> frequency_samples(const Trace& trace) {
  constexpr double kLeastGhz = 0.05, kMostGhz = 20;
  std::vector<FrequencySample> samples;
  if (!trace.clock.known()) return samples;
  TickReader ticks(trace.clock);
  for_each_row(trace, [&](const FrequencyRow& row) {
    const double chain_ns = trace.clock.length_ns(row.chain_ticks);
    const double ghz = chain_ns > 0 ? row.additions / chain_ns : 0;
    if (ghz >= kLeastGhz && ghz <= kMostGhz)
      samples.push_back({ticks.since_first_ns(row.ticks), ghz, row.tid, row.cpu});
  });
  std::stable_sort(samples.begin(), samples.end(),
                   [](const FrequencySample& l, const FrequencySample& r) { return l.at_ns < r.at_ns; });
  return samples;
}

std::vector<FrequencySample> smoothed(const std::vector<FrequencySample>& samples) {
  std::vector<FrequencySample> smooth;
  if (samples.size() < kFewest) return smooth;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t first = std::min(i < 2 ? 0 : i - 2, samples.size() - kFewest);
    std::array<double, kFewest> near;
    for (std::size_t k = 0; k < kFewest; ++k) near[k] = samples[first + k].ghz;
    std::nth_element(near.begin(), near.begin() + kFewest / 2, near.end());
    smooth.push_back(samples[i]);
    smooth.back().ghz = near[kFewest / 2];
  }
  return smooth;
}

std::optional<FrequencyAnswer> answer_frequency(const Trace& trace) {
  const std::vector<FrequencySample> samples = frequency_samples(trace);
  if (samples.empty()) return std::nullopt;
  FrequencyAnswer answer;
  answer.samples = samples.size();
  for_each_row(trace, [&](const FrequencyRow& row) { answer.dropped += row.disturbed; });
  const std::vector<double> ghz = values(samples);
  answer.median_ghz = quantile(ghz, 0.5);
  answer.low_ghz = quantile(ghz, 0.05);
  answer.high_ghz = quantile(ghz, 0.95);
  answer.cpus = by_cpu(samples);
  answer.drop = find_drop(samples);
  return answer;
}

}  // namespace hostprobe::analysis
