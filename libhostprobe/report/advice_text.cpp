// advice_text.cpp: see advice_text.h.
#include "advice_text.h"

#include <fmt/format.h>

#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// As much as it had work for; a quota above that holds nobody back.
std::string quota_text(const ThrottledEvidence& evidence, const std::string& raise) {
  std::string text = raise;
  if (const std::string group = printable(evidence.group); !group.empty()) text += " of " + group;
  const double now = evidence.quota_cpus.value_or(0), wanted = evidence.cpus_wanted.value_or(0);
  if (now <= 0) return text;
  text += fmt::format(" ({:g} CPUs", now);
  return wanted > now ? fmt::format("{}, and there is work for {:.1f})", text, wanted) : text + ")";
}

// What sets how many threads a library's pool has.
struct PoolSetting {
  const char* library;  // how its name begins
  const char* variable;
  const char* call;
};
constexpr PoolSetting kPoolSettings[] = {
    {"libgomp", "OMP_NUM_THREADS", "torch.set_num_threads"},
    {"libomp", "OMP_NUM_THREADS", "torch.set_num_threads"},
    {"libiomp", "OMP_NUM_THREADS", "torch.set_num_threads"},
    {"libmkl", "MKL_NUM_THREADS", ""},
    {"libopenblas", "OPENBLAS_NUM_THREADS", ""},
    {"libscipy_openblas", "OPENBLAS_NUM_THREADS", ""},
    {"libblis", "BLIS_NUM_THREADS", ""},
    {"tokenizers", "RAYON_NUM_THREADS", ""},
    {"libtorch", "", "torch.set_num_interop_threads"},
    {"libc10", "", "torch.set_num_interop_threads"},
};

std::string setting_text(const PoolEvidence& pool) {
  for (const PoolSetting& one : kPoolSettings) {
    if (!pool.pool_library.starts_with(one.library)) continue;
    const std::string call = *one.call == 0 ? "" : fmt::format("{}({})", one.call, pool.pool_fits);
    if (*one.variable == 0) return call;
    return fmt::format("{}={}{}{}", one.variable, pool.pool_fits, call.empty() ? "" : " or ", call);
  }
  return fmt::format("{} in each process", pool.pool_fits);
}

const char* advice_of(Fix fix) {
  static constexpr const char* kAdvice[] = {
      "",
#define HP_FIX(Name, name, meaning, advice) advice,
#define HP_REMEDY(Name, name, advice) advice,
#include "hostprobe/fixes.def"
  };
  return kAdvice[static_cast<std::size_t>(fix)];
}

std::uint64_t rounded(double count) { return static_cast<std::uint64_t>(count + 0.5); }

// "" where nobody counted them.
std::string living_text(const GarbageWorkEvidence& work) {
  return work.living_blocks ? fmt::format(" while {} blocks of memory live", grouped(*work.living_blocks)) : "";
}

}  // namespace

std::string fix_text(const Finding& finding) {
  const char* advice = advice_of(finding.fix);
  if (const auto* pool = finding.evidence.find<PoolEvidence>(); pool != nullptr && finding.fix == Fix::kFewerThreads)
    return fmt::format("{}: {}", advice, setting_text(*pool));
  if (const std::string holder = holder_text(finding.evidence); finding.fix == Fix::kProcesses && !holder.empty())
    return fmt::format("move what {} does into a process of its own, or do it in smaller pieces", holder);
  return finding.fix == Fix::kRaiseQuota ? quota_text(finding.evidence.of<ThrottledEvidence>(), advice) : advice;
}

const char* usual_advice(Cause cause) {
  switch (reported_cause(cause)) {
#define HP_CAUSE(Name, id, title, least_pct, fix, how, advice) \
  case Cause::k##Name:                                         \
    return advice;
#include "hostprobe/causes.def"
    default:
      return "";
  }
}

Advice loader_advice(const Evidence& evidence) {
  const WorkersEvidence& seen = evidence.of<WorkersEvidence>();
  const double cpu_pct = seen.workers_cpu_pct, no_cpu_pct = seen.workers_no_cpu_pct;
  const std::string in = printable(seen.workers_wait_in);
  const bool one = seen.workers == 1;
  const std::string workers = one ? "its worker" : fmt::format("its {} workers", seen.workers);
  if (seen.workers == 0) return {"", "look at how samples are made (no worker process of the loader was seen)"};
  if (no_cpu_pct > cpu_pct)
    return {
        fmt::format("{} {} ready but without a CPU for {:.0f} % of the time", workers, one ? "is" : "are", no_cpu_pct),
        "give them CPUs, or start fewer threads"};
  if (cpu_pct + no_cpu_pct >= 60)
    return {fmt::format("{} {} busy for {:.0f} % of the time", workers, one ? "is" : "are", cpu_pct + no_cpu_pct),
            "use more workers (num_workers), or make samples cheaper"};
  const std::string mostly = in.empty() ? "" : fmt::format(" and {} most in {}", one ? "waits" : "wait", in);
  return {fmt::format("{} {} only {:.0f} % of the time{}", workers, one ? "runs" : "run", cpu_pct, mostly),
          "make samples faster there; more workers help as long as they do not wait for each other"};
}

Advice supply_advice(const Finding& finding) {
  const NoCpuEvidence& seen = finding.evidence.of<NoCpuEvidence>();
  const std::uint64_t cpus = seen.cpus.value_or(0);
  const double used = seen.cpus_used.value_or(0);
  const char* noun = cpus == 1 ? "CPU" : "CPUs";
  if (cpus != 0 && seen.taken_by == "job") {
    const std::string most = seen.busiest.empty() ? ""
                                                  : fmt::format(", {:.1f} of them with threads named {}",
                                                                seen.busiest_cpus.value_or(0), printable(seen.busiest));
    return {fmt::format("the job keeps {:.1f} of its {} {} busy{}, and has work for {:.1f}", used, cpus, noun, most,
                        seen.cpus_wanted.value_or(0)),
            fix_text(finding)};
  }
  // Where it fills nearly all of them, nothing shows who took the rest.
  if (cpus == 0 || seen.taken_by != "others") return {};
  return {fmt::format("the job itself uses only {:.1f} of its {} {}, so something else took them", used, cpus, noun),
          "look for other programs on these CPUs, and for a limit on the job's CPU time"};
}

Advice mask_advice(const Finding& finding) {
  const auto* mask = finding.evidence.find<MaskEvidence>();
  if (mask == nullptr) return {};
  const std::uint64_t workers = mask->mask_workers.value_or(0);
  std::string because = fmt::format("{} may use {} of {} CPUs",
                                    workers == 0   ? "its threads"
                                    : workers == 1 ? "its worker"
                                                   : fmt::format("its {} workers", workers),
                                    mask->mask_cpus, mask->mask_all_cpus);
  if (!mask->mask_list.empty()) because += fmt::format(" ({})", mask->mask_list);
  if (!mask->mask_set_by.empty()) because += ", as set by " + shortened_place(mask->mask_set_by, 64);
  if (!mask->mask_set_from.empty()) because += ", called from " + shortened_place(mask->mask_set_from, 64);
  if (mask->mask_set_at_ms) because += fmt::format(", at {:.1f} s", 1e-3 * *mask->mask_set_at_ms);
  because += fmt::format("; the job uses {:.1f}", mask->mask_cpus_used);
  if (mask->mask_idle_cpus) because += fmt::format(", and {:.1f} are idle", *mask->mask_idle_cpus);
  return {because, fix_text(finding)};
}

Advice pool_advice(const Finding& finding) {
  const auto* pool = finding.evidence.find<PoolEvidence>();
  if (pool == nullptr) return {};
  const std::string library = printable(pool->pool_library);
  const std::string whose = pool->pool_processes > 1 ? fmt::format(" in {} processes", pool->pool_processes) : "";
  const std::string cpus = fmt::format("{:g} {}", pool->pool_cpus, pool->pool_cpus == 1 ? "CPU" : "CPUs");
  const std::string place = pool->pool_spins_in.empty() || pool->pool_spins_in == pool->pool_library
                                ? ""
                                : " in " + shortened_place(pool->pool_spins_in, 64);
  return {fmt::format("{} threads of {}{} share {}{}, {:.1f} want one at a time, and {:.0f} % of what they get is "
                      "spinning for each other{}",
                      pool->pool_threads, library, whose, pool->pool_cpus_by == "quota" ? "a quota of " : "", cpus,
                      pool->pool_at_a_time, pool->pool_spins_pct, place),
          fix_text(finding)};
}

// The most telling of what is known: who asked for them and what they freed, else how what lives grows.
std::string garbage_text(const Evidence& evidence) {
  const GarbageEvidence& seen = evidence.of<GarbageEvidence>();
  const GarbageWorkEvidence& work = evidence.of<GarbageWorkEvidence>();
  std::string longest = "the longest takes " + duration_text(1e6 * seen.max_ms);
  if (work.requests_pct >= 50)
    return fmt::format("{} calls of gc.collect() freed {} objects{}, and {}", grouped(work.requests),
                       grouped(work.requests_collected.value_or(0)), living_text(work), longest);
  if (!seen.begins_in.empty())
    longest += "; most of that time begins in " + shortened_place(printable(seen.begins_in), 64);
  if (!work.new_blocks_per_s)
    return fmt::format("there are {} collections, {} of them of generation {}, and {}", grouped(seen.count),
                       grouped(seen.oldest_count), seen.oldest_generation, longest);
  const std::string grows = work.new_blocks_per_step
                                ? fmt::format("{} blocks of memory a step", grouped(rounded(*work.new_blocks_per_step)))
                                : fmt::format("{} blocks of memory a second", grouped(rounded(*work.new_blocks_per_s)));
  return fmt::format("what lives in Python grows by {}, {} collections freed {} objects, and {}", grows,
                     grouped(seen.count), grouped(work.collected), longest);
}

std::string holder_text(const Evidence& evidence) {
  const HolderEvidence* holder = evidence.find<HolderEvidence>();
  if (holder == nullptr || holder->held_by.empty()) return {};
  const std::string name = printable(holder->held_by_name.empty() ? holder->held_by : holder->held_by_name);
  return name == role_name(Role::kOther) ? fmt::format("thread {}", holder->held_by_tid)
                                         : fmt::format("{} (thread {})", name, holder->held_by_tid);
}

std::string busy_holder_text(const Evidence& evidence) {
  const std::string& place = evidence.of<HolderEvidence>().held_in;
  return place.empty() ? holder_text(evidence)
                       : holder_text(evidence) + ", which is mostly in " + shortened_place(place, 64);
}

}  // namespace hostprobe::analysis
