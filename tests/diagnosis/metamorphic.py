#!/usr/bin/env python3
"""Runs drawn programs in ways that change nothing about their fault, and prints where the first finding is another one all the same.

The ways: all names of threads and functions permuted; marks of steps added, or taken away; twice as many steps; the mode flight; the
simulated driver's account read as well. Findings are alike where cause and rank are the same and the shares at most 5 points or a quarter apart.
A seed whose plain run has no finding is compared in that.

examples:
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/metamorphic.py --seeds 12          twelve that nobody has seen
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/metamorphic.py --seed 4711         one
  HOSTPROBE_TEST_BUILD=build tests/diagnosis/metamorphic.py --seeds 4 names marks
"""

import argparse
import collections
import dataclasses
import random
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "generator"))

import draw  # noqa: E402
import generated  # noqa: E402
import score  # noqa: E402
import structure  # noqa: E402

POINTS, PART = 5, 0.25  # by which shares may be apart


@dataclasses.dataclass(frozen=True)
class ModeRun(draw.PlannedRun):
    mode: str = "trace"

    def start(self, folder, mode=None):
        return super().start(folder, self.mode)


def with_key(plan, key, change):
    return re.sub(rf"^{key} (\d+)$", lambda found: f"{key} {change(int(found[1]))}", plan, flags=re.M)


def with_other_names(plan, seed):
    """Each name stands for another one, the same one everywhere."""
    rng, others = random.Random(seed), {}
    for names in (structure.FUNCTIONS, [name.replace(" ", "_") for name in structure.THREADS]):
        others.update(zip(names, rng.sample(names, len(names))))
    return re.sub(r"(?<=[ =])[\w-]+$|(?<=function=)\w+", lambda found: others.get(found[0], found[0]), plan, flags=re.M)


def changed(run, way, seed):
    """The scenario run in that way, and whether the account is read."""
    plan = run.plan
    if way == "names":
        plan = with_other_names(plan, seed)
    elif way == "marks":
        plan = with_key(plan, "marks", lambda marks: 1 - marks)
    elif way == "twice":
        plan = with_key(plan, "steps", lambda steps: 2 * steps)
    fields = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    return ModeRun(**{**fields, "plan": plan}, mode="flight" if way == "flight" else "trace"), way == "account"


WAYS = ("names", "marks", "twice", "flight", "account")


def first_of(report):
    return next((one for one in report["findings"] if one["cause"] not in score.BESIDES), None)


def words_of(finding):
    return "nothing" if finding is None else f"{finding['cause']} {'' if finding['rank'] is None else finding['rank']} {finding['share_pct']:.0f} %"


def are_alike(one, other):
    if one is None or other is None:
        return one is other
    apart = abs(one["share_pct"] - other["share_pct"])
    return (one["cause"], one["rank"]) == (other["cause"], other["rank"]) and apart <= max(POINTS, PART * one["share_pct"])


def report_of(run, account=False):
    with tempfile.TemporaryDirectory(prefix="hostprobe-metamorphic.") as folder:
        return score.run_of(run, Path(folder) / "run", account=account, limit_s=generated.LIMIT_S).report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", help="some of " + ", ".join(WAYS))
    parser.add_argument("--seeds", type=int, metavar="N", default=0, help="that many fresh ones")
    parser.add_argument("--seed", type=int, action="append", default=[], help="this one; again for more")
    options = parser.parse_args()
    if unknown := set(options.ways) - set(WAYS):
        parser.error(f"there is no {unknown.pop()}; there are " + ", ".join(WAYS))
    ways = options.ways or WAYS
    alike, all_of = collections.Counter(), collections.Counter()
    for seed in [*options.seed, *generated.fresh_seeds(options.seeds)]:
        drawn = draw.draw(seed)
        print(f"{seed} {drawn.words()}", file=sys.stderr, flush=True)
        try:
            plain = first_of(report_of(drawn.run()))
            for way in ways:
                found = first_of(report_of(*changed(drawn.run(), way, seed)))
                all_of[way] += 1
                alike[way] += are_alike(plain, found)
                if not are_alike(plain, found):
                    print(f"{seed}  {way}: {words_of(plain)} became {words_of(found)}", flush=True)
        except (score.NoReport, SystemExit) as error:
            print(f"{seed}  FAILED: {error}", flush=True)
    for way in ways:
        print(f"{way}: {alike[way]} of {all_of[way]} alike")


if __name__ == "__main__":
    main()
