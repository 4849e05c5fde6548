// histogram.h: percentiles of many durations in little memory.
//
// Room 3. 32 buckets per power of two: a bucket is at most 1/32 wide, so
// its middle is within 1.6 % of any value in it. Count, sum and maximum are exact.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hostprobe::analysis {

class Histogram {
 public:
  void add(double value_ns) {
    count_in_bucket(value_ns, 1);
    total_ns_ += std::max(0.0, value_ns);
  }
  void add(double value_ns, std::uint64_t times) {
    count_in_bucket(value_ns, times);
    total_ns_ += std::max(0.0, value_ns) * static_cast<double>(times);
  }

  // The same as one after the other.
  void add(std::span<const double> values_ns) {
    double total_ns = total_ns_, least_ns = min_ns_, most_ns = max_ns_;
    for (const double ns : values_ns) {
      const std::uint32_t bucket = bucket_of(ns);
      if (bucket - first_ >= buckets_.size()) grow_to(bucket);
      ++buckets_[bucket - first_];
      total_ns += std::max(0.0, ns);
      least_ns = std::min(least_ns, ns);
      most_ns = std::max(most_ns, ns);
    }
    count_ += values_ns.size();
    total_ns_ = total_ns;
    min_ns_ = least_ns;
    max_ns_ = most_ns;
  }

  // Where values were rounded before they came here and the exact sum and maximum are known.
  void set_exact(double total_ns, double max_ns) {
    total_ns_ = total_ns;
    max_ns_ = max_ns;
  }

  void add(const Histogram& other) {
    if (other.count_ == 0) return;
    grow_to(other.first_);
    grow_to(other.first_ + static_cast<std::uint32_t>(other.buckets_.size()) - 1);
    for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[other.first_ - first_ + i] += other.buckets_[i];
    min_ns_ = std::min(min_ns_, other.min_ns_);
    max_ns_ = std::max(max_ns_, other.max_ns_);
    count_ += other.count_;
    total_ns_ += other.total_ns_;
  }

  std::uint64_t count() const { return count_; }
  double total_ns() const { return total_ns_; }
  double max_ns() const { return max_ns_; }
  double min_ns() const { return count_ == 0 ? 0 : min_ns_; }
  double mean_ns() const { return count_ == 0 ? 0 : total_ns_ / static_cast<double>(count_); }

  // Mean square distance from the mean, as exact as the buckets are.
  double variance() const {
    double sum = 0;
    const double mean = mean_ns();
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const double away = middle_of(first_ + static_cast<std::uint32_t>(i)) - mean;
      sum += static_cast<double>(buckets_[i]) * away * away;
    }
    return count_ == 0 ? 0 : sum / static_cast<double>(count_);
  }

  // As far as the buckets tell.
  std::uint64_t count_above(double value_ns) const {
    const std::uint32_t limit = bucket_of(value_ns);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) count += first_ + i > limit ? buckets_[i] : 0;
    return count;
  }

  // The value below or at which `percent` of all values lie.
  double percentile_ns(double percent) const {
    if (count_ == 0) return 0;
    const auto rank = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(percent / 100.0 * static_cast<double>(count_) + 0.999999));
    if (rank >= count_) return max_ns_;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= rank) return std::clamp(middle_of(first_ + static_cast<std::uint32_t>(i)), min_ns_, max_ns_);
    }
    return max_ns_;
  }

 private:
  static constexpr double kMostNs = 0x1.fffffffffffffp63;  // damaged times; what lies above has no place in 64 bits
  static constexpr std::uint32_t kBitsPerOctave = 5;
  static constexpr std::uint32_t kPerOctave = 1u << kBitsPerOctave;

  void count_in_bucket(double value_ns, std::uint64_t times) {
    const std::uint32_t bucket = bucket_of(value_ns);
    if (bucket - first_ >= buckets_.size()) grow_to(bucket);
    buckets_[bucket - first_] += times;
    min_ns_ = std::min(min_ns_, value_ns);
    max_ns_ = std::max(max_ns_, value_ns);
    count_ += times;
  }
  // A value that is large enough has its bucket in its own bits: the exponent, and the first ones behind the leading one.
  static std::uint32_t bucket_of(double ns) {
    constexpr std::uint32_t kFirstLarge = (1023 + kBitsPerOctave - 1) << kBitsPerOctave;
    if (!(ns >= kPerOctave)) return ns > 0 ? static_cast<std::uint32_t>(ns) : 0;
    const auto bits = std::bit_cast<std::uint64_t>(std::min(ns, kMostNs));
    return static_cast<std::uint32_t>(bits >> (52 - kBitsPerOctave)) - kFirstLarge;
  }
  static double middle_of(std::uint32_t bucket) {
    if (bucket < kPerOctave) return bucket;
    const std::uint32_t shift = bucket / kPerOctave - 1;
    const auto least = static_cast<double>(std::uint64_t{bucket % kPerOctave + kPerOctave} << shift);
    return least + static_cast<double>(std::uint64_t{1} << shift) / 2;
  }
  // Durations of one site span a few octaves, so only that part of the axis is held.
  void grow_to(std::uint32_t bucket) {
    if (buckets_.empty()) first_ = bucket;
    if (bucket < first_) {
      buckets_.insert(buckets_.begin(), first_ - bucket, 0);
      first_ = bucket;
    }
    if (bucket - first_ >= buckets_.size()) buckets_.resize(bucket - first_ + 1, 0);
  }

  std::vector<std::uint64_t> buckets_;
  std::uint32_t first_ = 0;
  std::uint64_t count_ = 0;
  double total_ns_ = 0;
  double max_ns_ = 0;
  double min_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace hostprobe::analysis
