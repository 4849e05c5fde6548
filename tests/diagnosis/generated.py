#!/usr/bin/env python3
"""Draws programs nobody wrote, runs each with its fault and without, and prints how often the report says what the twins show.

The truth is the twin: the same seed without the fault. A fault that costs less than 1 % of the steps is none, and its run is
healthy. One between 1 and 3 %, or within what the twins differ by, is unclear: a report without findings is right as well. Of two
faults the heavier one is expected first. Findings of a busy machine (cpu_contention, own_cost) count only where they are expected.

examples:
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/generated.py --seeds 12           twelve that nobody has seen
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/generated.py --seed 4711 --keep   one, and its runs are left here
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/generated.py --show 4711          what it is
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/generated.py --seeds 200 --patience 60 --markdown FILE
"""

import argparse
import collections
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "generator"))

import bystanders  # noqa: E402
import draw  # noqa: E402
import score  # noqa: E402
import verdict  # noqa: E402

LIMIT_S = 40  # of one run, which lasts 2 to 5, and of its report
TWINS_DIFFER = 0.03  # then there is a third one
BYSTANDERS_CPUS = 0.4  # with more than that a run is made once more


def fresh_seeds(count):
    """Small enough to be typed."""
    return [int.from_bytes(os.urandom(4), "big") for _ in range(count)]


class Runner:
    """Runs in a folder of their own, which is gone afterwards unless `keeps`."""

    def __init__(self, keeps, patience_s=0):
        self.keeps, self.patience_s, self.twin_reports, self.beside_others, self.no_report = keeps, patience_s, [], set(), []

    def await_quiet(self):
        end = time.monotonic() + self.patience_s
        while time.monotonic() < end:
            with bystanders.Bystanders() as others:
                time.sleep(0.5)
            if others.cpus < BYSTANDERS_CPUS:
                break

    def run(self, scenario, name):
        """One that others disturb is made once more; of a seed where that helped nothing this is said."""
        for _ in range(2):
            self.await_quiet()
            with bystanders.Bystanders() as others:
                run = self.run_once(scenario, name)
            if others.cpus < BYSTANDERS_CPUS:
                return run
        self.beside_others.add(scenario.name)
        return run

    def run_once(self, scenario, name):
        folder = Path(tempfile.mkdtemp(prefix="hostprobe-generated."))
        try:
            return score.run_of(scenario, folder / "run", limit_s=LIMIT_S)
        finally:
            if self.keeps:
                target = Path(f"generated-{scenario.name}-{name}").absolute()
                shutil.rmtree(target, ignore_errors=True)
                shutil.move(folder, target)
            shutil.rmtree(folder, ignore_errors=True)

    def verdict(self, seed):
        """Half of the twins run before the run, half behind it, so that both meet the same machine."""
        drawn = draw.draw(seed)
        numbers = range(len(drawn.faults))
        twins = [[self.run(drawn.without(number), f"twin{number}-0")] for number in numbers]
        run = self.run(drawn.run(), "run")
        for number in numbers:
            twins[number].append(self.run(drawn.without(number), f"twin{number}-1"))
            low, high = sorted(one.step_ms for one in twins[number])
            if high - low > TWINS_DIFFER * low:
                twins[number].append(self.run(drawn.without(number), f"twin{number}-2"))
        if len(drawn.faults) == 1:
            self.twin_reports += [(seed, one.report) for one in twins[0]]
        measured = verdict.measure(run.step_ms, drawn.faults, [[one.step_ms for one in runs] for runs in twins])
        wanted = {cause for one in measured if one.gain_pct >= verdict.NOTHING_PCT for cause in one.fault.causes}
        found = [one for one in run.report["findings"] if one["cause"] not in score.BESIDES or one["cause"] in wanted]
        return verdict.Verdict(drawn, measured, found, run.report["steps"]["count"], run.report)


def accused_twins(reports):
    """Twins of one fault have none: what is found there is found in a healthy run."""
    accused = []
    for seed, report in reports:
        found = [one for one in report["findings"] if one["cause"] not in score.BESIDES]
        if found:
            accused.append(f"{seed} " + ", ".join(f"{one['cause']} {one['share_pct']:.0f}" for one in found[:2]))
    yield f"twins without a fault {len(reports)}: accused {len(accused)}"
    yield from (f"  {line}" for line in accused)


def besides(verdicts):
    """Findings of a busy machine, which are not held against the report."""
    found = collections.Counter(one["cause"] for verdict_ in verdicts for one in verdict_.report["findings"] if one["cause"] in score.BESIDES)
    if found:
        yield "besides, in runs: " + ", ".join(f"{cause} {count}" for cause, count in found.most_common())


def disturbed(runner):
    if runner.no_report:
        yield f"no report, which is as wrong as a wrong one: {len(runner.no_report)} ({' '.join(map(str, runner.no_report))})"
    if runner.beside_others:
        yield (f"beside others that took {BYSTANDERS_CPUS} CPUs or more, so that what it costs is less sure: {len(runner.beside_others)} "
               f"({' '.join(sorted(runner.beside_others))})")


def score_seeds(seeds, runner):
    verdicts, failed, begin = [], [], time.monotonic()
    print("  ".join(verdict.HEAD))
    for number, seed in enumerate(seeds, 1):
        drawn = draw.draw(seed)
        print(f"{number} of {len(seeds)}, {time.monotonic() - begin:.0f} s: {seed} {drawn.words()}", file=sys.stderr, flush=True)
        if why := drawn.run().cannot():
            print(f"{seed}  skipped: {why}", flush=True)
            continue
        try:
            verdicts.append(runner.verdict(seed))
        except KeyboardInterrupt:
            print("interrupted; of those until here:", file=sys.stderr)
            break
        except score.NoReport as error:
            runner.no_report.append(seed)
            print(f"{seed}  NO REPORT: {error}", flush=True)
            continue
        except SystemExit as error:
            failed.append(seed)
            print(f"{seed}  FAILED: {error}", flush=True)
            continue
        print("  ".join(verdict.row(verdicts[-1])), flush=True)
    return verdicts, failed


def write_markdown(path, verdicts, lines):
    rows = ["| " + " | ".join(word.replace("|", " or ") for word in words) + " |"
            for words in (verdict.HEAD, ("---",) * len(verdict.HEAD), *(verdict.row(one) for one in verdicts))]
    Path(path).write_text("\n".join([*lines, "", *rows]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, metavar="N", help="that many fresh ones")
    parser.add_argument("--seed", type=int, action="append", default=[], help="this one; again for more")
    parser.add_argument("--show", type=int, metavar="SEED", help="say what a seed is, and run nothing")
    parser.add_argument("--keep", action="store_true", help="leave the runs as generated-SEED-* in this folder")
    parser.add_argument("--patience", type=float, default=0, metavar="S", help="seconds to wait before each run while others use the CPUs (%(default)s)")
    parser.add_argument("--markdown", metavar="FILE", help="the table, for a page")
    options = parser.parse_args()
    if options.show is not None:
        print("\n".join(draw.draw(options.show).show()))
        return
    seeds = options.seed + fresh_seeds(options.seeds or 0)
    if not seeds:
        parser.error("--seeds N or --seed S: how many, or which?")
    runner = Runner(options.keep, options.patience)
    print("seeds: " + " ".join(map(str, seeds)), flush=True)
    verdicts, failed = score_seeds(seeds, runner)
    lines = [*verdict.summary(verdicts), *accused_twins(runner.twin_reports), *besides(verdicts), *disturbed(runner)]
    if failed:
        lines.append(f"failed: {' '.join(map(str, failed))}")
    print("\n".join(lines))
    if options.markdown:
        write_markdown(options.markdown, verdicts, lines)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
