// switch_rates.h: which threads switch so often that records of it would cost more than they tell: those are left out, until they have
// been calm for a while.
//
// Room 2 (probe/). The writer thread. Counts and times in, decisions out: no clock, no system call. A thread may have a number of switches
// a second, and what it saves is kept for a tenth of a second: so a burst passes, and who goes on is out at once. All threads
// together may have some too; beyond, those go first that have most. Threads that matter more may have more, and go last.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// One instant in both clocks: decisions are by the one, rows in the file by the other.
struct RateMoment {
  std::uint64_t ns, ticks;
};

// All zeros: of no thread, and nobody is left out.
class SwitchRates {
 public:
  static constexpr unsigned kPlaces = 4096;  // a power of two; threads beyond are counted together only
  static constexpr double kMostASecond = 1000, kMostTogether = 8000, kBurstS = 0.1;
  static constexpr unsigned kLeastPatienceS = 1, kMostPatienceS = 64;

  // False: no memory. `times`: of the usual rates, which is what the budget allows; 0: nobody is left out.
  bool open(double times);
  void close();
  bool is_open() const { return places_ != nullptr && times_ > 0; }

  // Since the last look; of threads that are left out nothing comes.
  void add(std::uint32_t tid, double switches);
  // Every 20 to 100 ms. `weight_of`: 1, more for threads that matter more. True: some are left out from now on.
  bool look(const RateMoment& now, double (*weight_of)(std::uint32_t tid));
  // How often the kernel has put the thread on a CPU so far.
  void note_runs(std::uint32_t tid, std::uint64_t runs, std::uint64_t now_ns);

  bool is_left_out(std::uint32_t tid) const;
  unsigned left_out() const { return left_out_; }
  // Records of it could not be had, whatever the reason: until `until_ticks`, 0: until it is taken back.
  void leave_out(std::uint32_t tid, std::uint64_t since_ticks, std::uint64_t until_ticks, std::uint64_t now_ns);

  // Who has calmed down: calls take(tid), which is true when it has records again from now on.
  template <class Take>
  void take_back(const RateMoment& now, Take take) {
    for (unsigned i = 0; left_out_ > 0 && i < kPlaces; ++i) {
      Place& place = places_[i];
      if (place.is_out && place.is_calm && take(place.tid)) end_absence(place, now);
    }
  }
  bool has_calm() const { return calm_ > 0; }

  // Of whom there are no records, from when to when (0: still), as far as that ended behind `from_ticks`.
  template <class OnAbsence>
  void each_absence(std::uint64_t from_ticks, OnAbsence on_absence) const {
    for (unsigned i = 0; absences_ > 0 && i < kPlaces; ++i) {
      const Place& place = places_[i];
      if (place.since_ticks == 0 || (place.until_ticks != 0 && place.until_ticks <= from_ticks)) continue;
      on_absence(place.tid, place.since_ticks, place.until_ticks);
    }
  }
  // What ended before that is in the file.
  void forget_absences(std::uint64_t before_ticks);

 private:
  struct Place {
    std::uint32_t tid;  // 0: free
    bool is_out, is_calm, is_touched;
    double fresh;             // since the last look
    double level;             // above what it may have, as of looked_ns
    std::uint64_t looked_ns;  // when it last switched, by the looks
    std::uint64_t since_ticks, until_ticks;
    std::uint64_t runs, runs_ns;  // while it is out
    double rate;                  // by these
    std::uint64_t calm_ns;        // since when
    std::uint64_t back_ns;
    unsigned patience_s;
  };

  Place* place_of(std::uint32_t tid);
  const Place* find(std::uint32_t tid) const;
  bool is_stale(const Place& place) const;
  void begin_absence(Place& place, const RateMoment& now);
  void end_absence(Place& place, const RateMoment& now);
  bool leave_out_those_above(const RateMoment& now, double (*weight_of)(std::uint32_t tid));
  bool leave_out_heaviest(const RateMoment& now, double allowed, double (*weight_of)(std::uint32_t tid));
  void forget_touched();

  Place* places_;  // memory of our own, one piece with what follows
  std::uint16_t* touched_;
  unsigned touched_count_, left_out_, calm_, absences_;
  double times_;
  double together_, together_level_;  // switches since the last look, and above what all may have
  double second_, rate_;              // since second_ns_, and of the second before
  std::uint64_t looked_ns_, second_ns_;
};

}  // namespace hostprobe::probe
