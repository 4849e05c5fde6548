#!/usr/bin/env python3
"""Runs drawn programs in ways that change nothing about their fault, and prints where the first finding is another one all the same.

The ways: all names of threads and functions permuted; ranks in the other order (where they do the same); an idle thread and an idle process
added; marks of steps added, or taken away; twice as many steps; the mode flight; the simulated driver's account read as well. Findings are alike
where cause and rank are the same and the shares at most 5 points or a quarter apart. No finding is a share of 0, so that one of 5 % may come and go.
The way `stronger` makes faults twice as strong: their share is never smaller by more than that.

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
from outside import Beside  # noqa: E402

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


def mirrored(rank, ranks):
    """Where that rank stands in the other order; -1 and None are no rank in particular."""
    return rank if rank is None or rank < 0 else ranks - 1 - rank


def with_ranks_mirrored(run):
    """What befalls a rank befalls the one at its place from the other end."""
    def in_words(pattern, text):
        return re.sub(pattern, lambda found: found[1] + str(mirrored(int(found[2]), run.gpus)), text)

    outside = tuple(dataclasses.replace(one, rank=mirrored(one.rank, run.gpus)) if getattr(one, "rank", None) is not None else one
                    for one in run.outside)
    return {"plan": in_words(r"(\brank=)(-?\d+)", run.plan), "faults": in_words(r"(\brank=)(\d+)", run.faults), "outside": outside}


def with_idle(run):
    """A thread and a process that sleep nearly all the time. A plan that has side threads already gets the process alone."""
    plan = run.plan
    if not re.search(r"^deed where=burner ", plan, flags=re.M):
        plan = with_key(with_key(plan, "burners", lambda _: 1), "burner_rest_us", lambda _: 100000)
        plan += "" if re.search(r"^burners ", plan, flags=re.M) else "burners 1\nburner_rest_us 100000\n"
        plan += f"deed where=burner how=sleep function={structure.FUNCTIONS[0]} us=50000\n"
    return {"plan": plan, "outside": (*run.outside, Beside(("sleep", "60"), len(run.outside)))}


def with_stronger(run):
    """Deeds last twice as long, and what the simulated node or a neighbour does is twice as much."""
    plan = re.sub(r"(^deed .*\bus=)([\d.]+)", lambda found: found[1] + str(2 * float(found[2])), run.plan, flags=re.M)
    return {"plan": plan, "faults": re.sub(r"(amount=)([\d.]+)", lambda found: found[1] + str(2 * float(found[2])), run.faults)}


CHANGES = {
    "names": lambda run, seed: {"plan": with_other_names(run.plan, seed)},
    "ranks": lambda run, seed: with_ranks_mirrored(run),
    "idle": lambda run, seed: with_idle(run),
    "marks": lambda run, seed: {"plan": with_key(run.plan, "marks", lambda marks: 1 - marks)},
    "twice": lambda run, seed: {"plan": with_key(run.plan, "steps", lambda steps: 2 * steps)},
    "flight": lambda run, seed: {"mode": "flight"},
    "account": lambda run, seed: {},
    "stronger": lambda run, seed: with_stronger(run),
}
WAYS = tuple(CHANGES)


def can(drawn, way):
    """Stages of a pipeline are not alike; a fault that is hidden on purpose would cost something if it were stronger; outside, stronger is something else."""
    if way == "ranks":
        return drawn.structure.ranks > 1 and drawn.structure["structure"] != "pipeline"
    if way == "stronger":
        return bool(drawn.faults) and not drawn.hidden and with_stronger(drawn.run()) != {"plan": drawn.plan(), "faults": drawn.run().faults}
    return True


def changed(run, way, seed):
    """The scenario run in that way, and whether the account is read."""
    fields = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    return ModeRun(**{**fields, **CHANGES[way](run, seed)}), way == "account"


def first_of(report):
    return next((one for one in report["findings"] if one["cause"] not in score.BESIDES), None)


def words_of(finding):
    return "nothing" if finding is None else f"{finding['cause']} {'' if finding['rank'] is None else finding['rank']} {finding['share_pct']:.0f} %"


def are_alike(one, other, way="", ranks=1):
    """What `way` made of the first finding."""
    if one is None and other is None:
        return True
    share, rank = (one["share_pct"], one["rank"]) if one else (0, other["rank"])
    if way == "ranks":
        rank = mirrored(rank, ranks)
    apart = (other["share_pct"] if other else 0) - share
    if one and other and (one["cause"], rank) != (other["cause"], other["rank"]):
        return False
    if way == "stronger":
        apart = min(0, apart)
    return abs(apart) <= max(POINTS, PART * share)


def report_of(run, account=False):
    with tempfile.TemporaryDirectory(prefix="hostprobe-metamorphic.") as folder:
        return score.run_of(run, Path(folder) / "run", account=account, limit_s=generated.LIMIT_S).report


def compare(seed, ways, alike, all_of):
    """Adds to the two counters by ways, and yields a line for each way in which the first finding is another one."""
    drawn = draw.draw(seed)
    plain = first_of(report_of(drawn.run()))
    for way in (way for way in ways if can(drawn, way)):
        found = first_of(report_of(*changed(drawn.run(), way, seed)))
        all_of[way] += 1
        if are_alike(plain, found, way, drawn.structure.ranks):
            alike[way] += 1
        else:
            yield f"{seed}  {way}: {words_of(plain)} became {words_of(found)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", help="some of " + ", ".join(WAYS))
    parser.add_argument("--seeds", type=int, metavar="N", default=0, help="that many fresh ones")
    parser.add_argument("--seed", type=int, action="append", default=[], help="this one; again for more")
    options = parser.parse_args()
    if unknown := set(options.ways) - set(WAYS):
        parser.error(f"there is no {unknown.pop()}; there are " + ", ".join(WAYS))
    seeds = [*options.seed, *generated.fresh_seeds(options.seeds)]
    if not seeds:
        parser.error("--seeds N or --seed S: how many, or which?")
    alike, all_of = collections.Counter(), collections.Counter()
    for seed in seeds:
        print(f"{seed} {draw.draw(seed).words()}", file=sys.stderr, flush=True)
        try:
            for line in compare(seed, options.ways or WAYS, alike, all_of):
                print(line, flush=True)
        except (score.NoReport, SystemExit) as error:
            print(f"{seed}  FAILED: {error}", flush=True)
    for way in options.ways or WAYS:
        print(f"{way}: {alike[way]} of {all_of[way]} alike")


if __name__ == "__main__":
    main()
