"""What a report was to say of a drawn run, by the steps of its twins, and whether it does."""

import dataclasses
import json
import statistics

import score

# Below the first a fault costs nothing, from the second on it is to be found. What twins differ by among themselves comes on top.
NOTHING_PCT, CLEAR_PCT = 1, 3
ALIKE = 0.8  # of the heavier of two faults: then either may come first


@dataclasses.dataclass
class Measured:
    """One fault, and what the steps are shorter by without it."""

    fault: object
    gain_pct: float
    unsure_pct: float  # half of what the twins differ by


def measure(run_ms, faults, twins_ms):
    """The faults by what they cost, the heaviest first. `twins_ms`: for each the steps of some runs without it."""
    found = [Measured(fault, score.shorter_pct(run_ms, statistics.median(twins)), 50 * (max(twins) - min(twins)) / run_ms)
             for fault, twins in zip(faults, twins_ms)]
    return sorted(found, key=lambda one: -one.gain_pct)


@dataclasses.dataclass
class Verdict:
    drawn: object
    measured: list  # of the faults, the heaviest first
    found: list  # findings
    steps: int  # that the report counts
    report: dict

    @property
    def kind(self):
        if not self.measured:
            return "healthy"
        gain, unsure = self.measured[0].gain_pct, self.measured[0].unsure_pct
        if gain - unsure >= CLEAR_PCT:
            return "planted"
        # One that is hidden on purpose is taken for that if the twins do not say more; one that was to cost something must be seen to cost nothing.
        if gain < NOTHING_PCT and (self.drawn.hidden or gain + unsure < NOTHING_PCT):
            return "healthy"
        return "unclear"

    @property
    def first(self):
        return self.found[0] if self.found else None

    @property
    def blamed(self):
        """The fault that the first finding names, if it may come first."""
        if not self.first:
            return None
        heaviest = self.measured[0].gain_pct if self.measured else 0
        return next((one for one in self.measured
                     if self.first["cause"] in one.fault.causes and one.gain_pct >= min(heaviest, ALIKE * heaviest)), None)

    @property
    def right(self):
        """Whether the first cause is right. Where the twins do not say whether it costs anything, both a finding and none are."""
        if self.kind == "healthy":
            return not self.found
        return self.blamed is not None or (self.kind == "unclear" and not self.found)

    @property
    def rank_right(self):
        """None: it sits on no rank in particular, or the cause is wrong already."""
        if self.kind != "planted" or not self.blamed or self.blamed.fault.rank is None:
            return None
        return self.first["rank"] == self.blamed.fault.rank

    @property
    def site_right(self):
        if self.kind != "planted" or not self.blamed or not self.blamed.fault.sites:
            return None
        said = json.dumps([self.first.get("site"), self.first["evidence"], self.first["text"]])
        return all(any(word in said for word in group) for group in self.blamed.fault.sites)

    @property
    def known(self):
        """Whether the twins say well enough what it costs to hold numbers against it."""
        return self.kind == "planted" and self.blamed is not None and self.blamed.unsure_pct <= score.GAIN_WITHIN / 2 * self.blamed.gain_pct

    @property
    def share_error(self):
        return abs(self.first["share_pct"] - self.blamed.gain_pct) if self.known else None

    @property
    def gain_right(self):
        """None: the cause is wrong, no gain is said, or the true one is not known."""
        if not self.known or self.first.get("gain_pct") is None:
            return None
        return abs(self.first["gain_pct"] - self.blamed.gain_pct) <= score.GAIN_WITHIN * self.blamed.gain_pct

    def expected(self):
        if self.kind == "healthy":
            return "healthy" + (f" ({self.measured[0].fault.kind} costs {self.measured[0].gain_pct:.1f} %)" if self.measured else "")
        words = []
        for one in self.measured:
            rank = "" if one.fault.rank is None else f" {one.fault.rank}"
            words.append(f"{'|'.join(one.fault.causes)}{rank} {one.gain_pct:.0f}" + (f" ± {one.unsure_pct:.0f}" if one.unsure_pct >= 1 else ""))
        return ", ".join(words)

    def said(self):
        words = []
        for one in self.found[:3]:
            gain = "" if one.get("gain_pct") is None else f" (gain {one['gain_pct']:.0f})"
            words.append(f"{one['cause']}{'' if one['rank'] is None else ' ' + str(one['rank'])} {one['share_pct']:.0f}{gain}")
        return ", ".join(words) or "nothing"


def yes_no(value):
    return "-" if value is None else "yes" if value else "NO"


HEAD = ("seed", "cause", "rank", "place", "share error", "gain", "expected (%)", "said (%)", "program")


def row(verdict):
    error = verdict.share_error
    return (str(verdict.drawn.seed), yes_no(verdict.right) if verdict.kind != "unclear" else f"unclear, {yes_no(verdict.right)}",
            yes_no(verdict.rank_right), yes_no(verdict.site_right), "-" if error is None else f"{error:.1f}", yes_no(verdict.gain_right),
            verdict.expected(), verdict.said(), verdict.drawn.words())


def count(values):
    known = [value for value in values if value is not None]
    return f"{sum(known)} of {len(known)}"


def summary(verdicts):
    planted = [one for one in verdicts if one.kind == "planted"]
    healthy = [one for one in verdicts if one.kind == "healthy"]
    unclear = [one for one in verdicts if one.kind == "unclear"]
    errors = [one.share_error for one in planted if one.share_error is not None]
    yield (f"planted {len(planted)}: first cause right {sum(one.right for one in planted)}; of these rank right "
           f"{count(one.rank_right for one in planted)}, place right {count(one.site_right for one in planted)}")
    if errors:
        yield f"share error: median {statistics.median(errors):.1f} points, worst {max(errors):.1f}, of {len(errors)}"
    if planted:
        yield (f"gain within {100 * score.GAIN_WITHIN:.0f} % of the measured one: {sum(bool(one.gain_right) for one in planted)} "
               f"of {len(planted)} ({count(one.gain_right for one in planted)} where the cause is right and the twins agree)")
    yield f"healthy {len(healthy)}: accused {sum(not one.right for one in healthy)}"
    if unclear:
        yield f"twins do not say whether it costs anything {len(unclear)}: with a wrong finding {sum(not one.right for one in unclear)}"
