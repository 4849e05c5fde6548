"""Whether a report names what is wrong with a run of a known kind: right, partly, wrong or silent."""

import dataclasses
import json

from kinds import ANY

RIGHT, PARTLY, WRONG, SILENT = "right", "partly", "wrong", "silent"
GAIN_WITHIN = 0.2  # of the true one
TWIN_PCT = 5  # of the steps: a finding of a healthy run may have less


@dataclasses.dataclass(frozen=True)
class Verdict:
    word: str
    lacks: tuple = ()  # what is not right, in words


def of_the_steps(findings):
    """Findings that would be read as a fault."""
    return [one for one in findings if one["share_of"] == "steps" and one["share_pct"] >= TWIN_PCT]


def accusations(kind, findings):
    """Of a twin: findings that are not true of it."""
    return [one for one in of_the_steps(findings) if one["cause"] not in kind.twin or fix_of(one) == kind.fix]


def fix_of(finding):
    return finding.get("fix", {}).get("name")


def true_gain_pct(fault, twin):
    """What the program itself measured; None: one of them hung."""
    if fault.step_s is None or twin.step_s is None:
        return None
    return 100 * (fault.step_s - twin.step_s) / fault.step_s


def has_place(finding, place):
    return place in json.dumps([finding["text"], finding.get("site"), finding["evidence"]], ensure_ascii=False)


def place_and_rank_lacks(kind, first):
    if kind.rank != ANY and first["rank"] != kind.rank:
        yield f"rank {first['rank']}, not {kind.rank}"
    yield from (f"no {place}" for place in kind.places() if not has_place(first, place))


def advice_lacks(kind, first, findings):
    if kind.fix and fix_of(first) != kind.fix:
        yield f"fix {fix_of(first)}, not {kind.fix}"
    for advised in sorted({fix_of(one) for one in findings} & set(kind.wrong_fixes)):
        yield f"advises {advised}"


def gain_lacks(first, gain_pct):
    if gain_pct is None:
        return
    said = first.get("gain_pct")
    if said is None:
        yield f"no gain, truth {gain_pct:.0f} %"
    elif abs(said - gain_pct) > GAIN_WITHIN * abs(gain_pct):
        yield f"gain {said:.0f} %, truth {gain_pct:.0f} %"


def judge_standing(kind, lines):
    """Of a run that hangs, where no finding has its cause: the head of the report may name the place all the same."""
    named = any(place in line for place in kind.places() for line in lines)
    return Verdict(PARTLY, ("no finding, its place alone",)) if named else Verdict(SILENT)


def judge(kind, findings, gain_pct=None, standing=()):
    if not kind.causes:
        return Verdict(WRONG if of_the_steps(findings) else RIGHT)
    if kind.hangs_for_s and not any(one["cause"] in kind.causes for one in findings):
        return judge_standing(kind, standing)
    if not findings:
        return Verdict(SILENT)
    first = findings[0]
    if first["cause"] not in kind.causes:
        return Verdict(WRONG, (f"{first['cause']}, not {' or '.join(kind.causes)}",))
    lacks = (*place_and_rank_lacks(kind, first), *advice_lacks(kind, first, findings), *gain_lacks(first, gain_pct))
    return Verdict(PARTLY if lacks else RIGHT, lacks)
