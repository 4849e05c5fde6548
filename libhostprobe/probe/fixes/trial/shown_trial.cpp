// shown_trial.cpp: see shown_trial.h.
#include "probe/fixes/trial/shown_trial.h"

#include <stdio.h>

#include <atomic>

#include "format/trial_text.h"
#include "probe/record/chunk.h"

namespace hostprobe::probe {

void write_trial(const char* fix, Verdict verdict, const Trial& trial, char* text, std::size_t bytes) {
  Gain gain{};
  trial.gain(gain);
  snprintf(text, bytes, kTrialPrint, fix, verdict_name(verdict), trial.pairs(), trial.pairs(),
           1e-6 * trial.median_ns(false), 1e-6 * trial.median_ns(true), gain.middle, gain.low, gain.high);
}

void fill_trial(const Trial& trial, const Gain& gain, ShownTrial& shown) {
  shown.pairs = trial.pairs();
  shown.without_ms = 1e-6 * trial.median_ns(false);
  shown.with_ms = 1e-6 * trial.median_ns(true);
  shown.gain_pct = gain.middle;
  shown.low_pct = gain.low;
  shown.high_pct = gain.high;
}

void show_trial(const ShownTrial& trial) {
  if (g_segment.header == nullptr) return;
  ShownTrial& place = g_segment.header->trial;
  const std::uint32_t serial = place.serial;
  std::atomic_ref(place.serial).store(serial + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  ShownTrial now = trial;
  now.serial = serial + 1;
  place = now;
  std::atomic_ref(place.serial).store(serial + 2, std::memory_order_release);
}

}  // namespace hostprobe::probe
