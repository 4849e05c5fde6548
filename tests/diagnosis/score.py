#!/usr/bin/env python3
"""Runs planted bottlenecks and healthy runs, and prints how often the report names the cause, its site, its share and its gain.

Each planted run has a twin without the (heaviest) fault. What the twin's steps are shorter by is the truth that the finding's share
and expected gain are held against; the gain against one that follows the advice, where that takes less away than the whole fault.
Twins that are the same run are run three to nine times, as often as runs are held against them, and their median is taken for all, or once
for each with --fresh.

examples:
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/score.py                          everything
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/score.py --markdown FILE          the same, and a table of it
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/score.py torch_gc_100 'stopped*'  some of them
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/score.py --list                   which there are
"""

import argparse
import collections
import contextlib
import dataclasses
import fnmatch
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import outside
import scenarios

# Not of the program: a machine that is busy besides, and what hostprobe costs there.
BESIDES = ("cpu_contention", "own_cost")
GAIN_WITHIN = 0.2  # of the measured gain
TWIN_RUNS = 3, 9  # at least and at most: one that is disturbed must not spoil all that are held against it


@dataclasses.dataclass
class Run:
    report: dict
    step_ms: float | None  # as the program measured it itself


class NoReport(SystemExit):
    """The program ran well, and its report did not."""


def end_all(pid):
    """A process and those below it."""
    for child in outside.children_of(pid):
        end_all(child)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def run_of(scenario, folder, account=False, limit_s=None):
    command, changes = scenario.start(folder)
    if account:
        changes["SIMNODE_ACTIVITIES"] = str(folder)

    def prepare():
        for one in scenario.outside:
            one.prepare()

    process = subprocess.Popen([str(word) for word in command], env={**os.environ, **changes}, text=True, cwd=folder.parent,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=prepare)
    with contextlib.ExitStack() as stack:
        for one in scenario.outside:
            stack.enter_context(one.around(process))
        try:
            output, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            end_all(process.pid)
            output, errors = process.communicate()
            errors += f" (it had not ended after {limit_s} s)"
    if process.returncode != 0:
        raise SystemExit(f"{scenario.name} ended with {process.returncode}: {errors[-2000:]}")
    reporter = scenarios.probed.BUILD / "bin/hostprobe_with_account" if account else scenarios.probed.COMMAND
    try:
        out = subprocess.run([reporter, "report", folder, "--json"], capture_output=True, text=True, check=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise NoReport(f"{scenario.name}: its report had not ended after {limit_s} s") from None
    except subprocess.CalledProcessError as error:
        raise NoReport(f"{scenario.name}: its report ended with {error.returncode}: {error.stderr[-2000:]}") from None
    found = re.search(r"step ms:.* mean ([\d.]+)", output)
    return Run(json.loads(out.stdout), float(found[1]) if found else None)


def shorter_pct(run_ms, twin_ms):
    """What is gained without the fault; None: it is not known."""
    return 100 * (run_ms - twin_ms) / run_ms if run_ms and twin_ms else None


def report_of(scenario, folder):
    return run_of(scenario, folder).report


def findings_of(scenario, report):
    wanted = scenario.causes + scenario.also
    return [one for one in report["findings"] if one["cause"] not in BESIDES or one["cause"] in wanted]


def has_site(scenario, finding):
    if scenario.rank is not None and finding["rank"] != scenario.rank:
        return False
    return not scenario.site or any(word in json.dumps([finding.get("site"), finding["evidence"]]) for word in scenario.site)


def judge(scenario, report):
    """Whether the heaviest finding has the right cause, and the right site; of a healthy run, whether there is none."""
    found = findings_of(scenario, report)
    if not scenario.causes:
        return not found, not found, found
    first = found[0] if found else {"cause": "none", "rank": None, "share_pct": 0, "evidence": {}}
    right = first["cause"] in scenario.causes
    there = {one["cause"] for one in found}
    both = (not scenario.also or bool(there & set(scenario.also))) and not there & set(scenario.hidden)
    return right and both, right and has_site(scenario, first), found


@dataclasses.dataclass
class Row:
    scenario: scenarios.Scenario
    cause: bool
    site: bool
    found: list
    measured_pct: float | None  # what is gained without it
    mended_pct: float | None  # and by what is advised
    steps: int

    @property
    def first(self):
        return self.found[0] if self.found else None

    @property
    def share_error(self):
        if self.measured_pct is None or not self.first or self.first["cause"] not in self.scenario.causes:
            return None
        return abs(self.first["share_pct"] - self.measured_pct)

    @property
    def gain(self):
        if self.mended_pct is None or not self.first or self.first["cause"] not in self.scenario.causes:
            return None
        return self.first.get("gain_pct")

    @property
    def gain_right(self):
        return None if self.gain is None else abs(self.gain - self.mended_pct) <= GAIN_WITHIN * abs(self.mended_pct)

    def words(self):
        none = "-"
        findings = ", ".join(f"{one['cause']}{'' if one['rank'] is None else ' ' + str(one['rank'])} {one['share_pct']:.0f}"
                             for one in self.found) or none
        gain = none if self.gain is None else f"{self.gain:.0f}"
        low, high = (self.first["gain_low_pct"], self.first["gain_high_pct"]) if self.first else (None, None)
        span = none if self.gain is None or low is None else f"{low:.0f}-{high:.0f}"
        return (self.scenario.name, "yes" if self.cause else "NO", "yes" if self.site else "NO",
                none if self.share_error is None else f"{self.share_error:.1f}", gain, span,
                none if self.mended_pct is None else f"{self.mended_pct:.0f}", str(self.steps), findings)


HEAD = ("scenario", "cause", "site", "share error", "gain", "range", "measured", "steps", "findings (% of the steps)")
WIDTHS = (26, 5, 4, 11, 4, 7, 8, 5, 0)


def line_of(words):
    return "  ".join(word.ljust(width) for word, width in zip(words, WIDTHS)).rstrip()


class Scorer:
    def __init__(self, some, fresh, account):
        self.fresh, self.account, self.twins = fresh, account, {}
        self.held_against = collections.Counter(twin.key() for one in some for twin in {one.clean(), one.after()} if twin)

    def run(self, scenario):
        """One that ends badly is run once more: gloo's threads and Python's end have a race, also without hostprobe (3 of 30 runs)."""
        try:
            return self.run_once(scenario)
        except SystemExit as error:
            print(f"again: {error}", file=sys.stderr)
            return self.run_once(scenario)

    def run_once(self, scenario):
        with tempfile.TemporaryDirectory(prefix="hostprobe-diagnosis.") as folder:
            return run_of(scenario, Path(folder) / "run", self.account)

    def step_ms_of(self, clean):
        if clean is None:
            return None
        if self.fresh or clean.key() not in self.twins:
            least, most = TWIN_RUNS
            runs = 1 if self.fresh else min(max(least, self.held_against[clean.key()]), most)
            steps = [self.run(clean).step_ms for _ in range(runs)]
            self.twins[clean.key()] = None if None in steps else statistics.median(steps)
        return self.twins[clean.key()]

    def row(self, scenario):
        run = self.run(scenario)
        measured, mended = (shorter_pct(run.step_ms, self.step_ms_of(twin)) for twin in (scenario.clean(), scenario.after()))
        cause, site, found = judge(scenario, run.report)
        return Row(scenario, cause, site, found, measured, mended, run.report["steps"]["count"])


def summary(rows):
    planted = [row for row in rows if row.scenario.causes]
    healthy = [row for row in rows if not row.scenario.causes]
    errors = [row.share_error for row in planted if row.share_error is not None]
    gains = [row.gain_right for row in planted if row.gain_right is not None]
    known = [row for row in planted if row.measured_pct is not None]
    yield f"planted {len(planted)}: cause right {sum(row.cause for row in planted)}, site right {sum(row.site for row in planted)}"
    if errors:
        yield f"share error: median {statistics.median(errors):.1f} points, worst {max(errors):.1f}, of {len(errors)}"
    if known:
        yield f"gain within {100 * GAIN_WITHIN:.0f} % of the measured one: {sum(gains)} of {len(known)} ({len(gains)} said one)"
    false_steps = sum(row.steps for row in healthy if row.found)
    if healthy:
        yield (f"healthy {len(healthy)}: without a finding {sum(row.cause for row in healthy)}; "
               f"{false_steps} of {sum(row.steps for row in healthy)} steps are in runs with one")


def chosen(options):
    for scenario in scenarios.all_scenarios():
        if options.names and not any(fnmatch.fnmatch(scenario.name, name) for name in options.names):
            continue
        if not options.short or scenario.short:
            yield scenario


def write_markdown(path, rows):
    lines = ["| " + " | ".join(words) + " |" for words in (HEAD, ("---",) * len(HEAD), *(row.words() for row in rows))]
    Path(path).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="patterns of names; none: all")
    parser.add_argument("--short", action="store_true", help="those of CI only")
    parser.add_argument("--runs", type=int, default=1, help="of each (default %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="a twin for each run")
    parser.add_argument("--account", action="store_true",
                        help="with what the simulated driver tells of its devices, which no real one does")
    parser.add_argument("--list", action="store_true", help="only their names")
    parser.add_argument("--markdown", metavar="FILE", help="the table, for a page")
    options = parser.parse_args()
    some = list(chosen(options))
    if options.list:
        print("\n".join(scenario.name for scenario in some))
        return
    scorer, rows, begin = Scorer(some, options.fresh, options.account), [], time.monotonic()
    print(line_of(HEAD))
    for number, scenario in enumerate(some, 1):
        print(f"{number} of {len(some)}, {time.monotonic() - begin:.0f} s: {scenario.name}", file=sys.stderr, flush=True)
        if why := scenario.cannot():
            print(f"{scenario.name:26}  skipped: {why}", flush=True)
            continue
        for _ in range(options.runs):
            rows.append(scorer.row(scenario))
            print(line_of(rows[-1].words()), flush=True)
    print("\n".join(summary(rows)))
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
    if options.markdown:
        write_markdown(options.markdown, rows)


if __name__ == "__main__":
    main()
