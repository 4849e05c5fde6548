"""What no report may say of itself: figures that contradict each other, whatever the run was."""

import re

# What these cost is counted on the rank that has it, and not again where others wait for it: so more than that can be gained.
COUNTED_ONCE = ("slow_gpu", "proxy_delay", "comm_bandwidth")
NOISE_POINTS = 1  # by which a gain may be above its share
SHORT_POINTS, SHORT_PART = 6, 0.35  # by which it may be below without a reason
LEAST_GAIN_PCT = 1
ROUNDING = 1e-6


def contradictions(report):
    """A line each; none: the document agrees with itself."""
    return [*of_shares(report["step_share_pct"]),
            *(line for number, one in enumerate(report["findings"]) for line in of_finding(f"finding {number} ({one['cause']})", one)),
            *of_ranks(report), *of_gpus(report)]


def of_shares(shares):
    if shares is None:
        return
    total = sum(shares.values())
    if abs(total - 100) > 0.01:
        yield f"the shares of the steps are {total} % together"
    for cause, pct in shares.items():
        if not -ROUNDING <= pct <= 100 + ROUNDING:
            yield f"{cause} has {pct} % of the steps"


def of_finding(name, finding):
    share, gain = finding["share_pct"], finding["gain_pct"]
    if not -ROUNDING <= share <= 100 + ROUNDING:
        yield f"{name}: a share of {share} %"
    for text in re.findall(r"(\d+(?:\.\d+)?) %", finding["text"]):
        if float(text) > 100:
            yield f"{name}: says {text} %"
    if gain is None:
        return
    low, high = finding["gain_low_pct"], finding["gain_high_pct"]
    if low is not None and not low - ROUNDING <= gain <= high + ROUNDING:
        yield f"{name}: a gain of {gain} % between {low} and {high}"
    if gain > share + NOISE_POINTS and finding["cause"] not in COUNTED_ONCE:
        yield f"{name}: {gain} % to gain of {share} % that are lost"
    if share - gain > max(SHORT_POINTS, SHORT_PART * share) and not finding.get("gain_limit"):
        yield f"{name}: {gain} % to gain of {share} % that are lost, and no reason"
    if (gain if high is None else high) < LEAST_GAIN_PCT:
        yield f"{name}: advice that gains {gain} %"


def of_ranks(report):
    ranks = {process["rank"] for process in report["processes"]}
    for finding in report["findings"]:
        if finding["rank"] is not None and finding["rank"] not in ranks:
            yield f"{finding['cause']}: rank {finding['rank']} is none of the run's"


def of_gpus(report):
    for process in report["processes"]:
        gpu = process.get("gpu") or {}
        idle, unknown = gpu.get("idle_in_steps_pct"), gpu.get("unknown_pct")
        if idle is not None and unknown is not None and idle + unknown > 100 + 0.01:
            yield f"pid {process['pid']}: its GPU is idle for {idle} % of the steps and unknown for {unknown} %"
