#!/usr/bin/env python3
"""Runs a small program for each kind of trouble that users reported in public, and its healthy twin, and judges the report of both.

  right    the first finding has the cause, the rank, the place and the fix, and a gain within a fifth of the truth
  partly   its cause is right and something else is not; the line says what
  wrong    its cause is another one
  silent   there is no finding

The truth is what the program itself measured: (mean step − mean step of the twin) / mean step. A twin is silent where no finding has 5 %
of the steps or more. Nothing else may run on the machine meanwhile.

examples:
  bench/field_reports.py --build build                               everything; 10 minutes
  bench/field_reports.py --build build --markdown FILE               the same, and a table of it
  bench/field_reports.py --build build growing_heap 'slow_hook*'     some of them
  bench/field_reports.py --build build --findings cold_map           with what the first screen says
  bench/field_reports.py --list                                      which there are
"""

import argparse
import collections
import fnmatch
import os
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests/field_reports"))

HEAD = ("kind", "verdict", "lacks", "gain", "truth", "twin", "first finding")
WIDTHS = (20, 8, 44, 5, 5, 24, 0)
NONE = "-"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="patterns of names; none: all")
    parser.add_argument("--build", default="build", help="the build folder (default %(default)s)")
    parser.add_argument("--list", action="store_true", help="only their names and the reports they come from")
    parser.add_argument("--findings", action="store_true", help="what the first screen says, too")
    parser.add_argument("--markdown", metavar="FILE", help="the table, for a page")
    return parser.parse_args()


options = parsed()
os.environ["HOSTPROBE_TEST_BUILD"] = str(Path(options.build).absolute())

import kinds  # noqa: E402
import trial  # noqa: E402
import verdict  # noqa: E402


def words_of(finding):
    rank = "" if finding["rank"] is None else f" {finding['rank']}"
    return f"{finding['cause']}{rank} {finding['share_pct']:.0f}"


class Row:
    def __init__(self, kind, fault, twin):
        self.kind, self.findings, self.standing = kind, fault.findings, fault.standing
        self.truth_pct = verdict.true_gain_pct(fault, twin)
        self.verdict = verdict.judge(kind, fault.findings, self.truth_pct, fault.standing)
        self.accused = verdict.accusations(kind, twin.findings)

    def words(self):
        first = self.findings[0] if self.findings else {}
        gain = first.get("gain_pct")
        return (self.kind.name, self.verdict.word, "; ".join(self.verdict.lacks) or NONE, NONE if gain is None else f"{gain:.0f}",
                NONE if self.truth_pct is None else f"{self.truth_pct:.0f}", ", ".join(map(words_of, self.accused)) or "silent",
                ", ".join(map(words_of, self.findings)) or NONE)


def run_in_own_folder(kind, healthy):
    with tempfile.TemporaryDirectory(prefix="hostprobe-field.", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        return trial.run(kind, Path(folder), healthy)


def row_of(kind):
    return Row(kind, run_in_own_folder(kind, False), run_in_own_folder(kind, True))


def line_of(words):
    return "  ".join(word.ljust(width) for word, width in zip(words, WIDTHS)).rstrip()


def totals(rows):
    counts = collections.Counter(row.verdict.word for row in rows)
    verdicts = ", ".join(f"{word} {counts[word]}" for word in (verdict.RIGHT, verdict.PARTLY, verdict.WRONG, verdict.SILENT))
    return f"{len(rows)} kinds: {verdicts}; twins silent {sum(not row.accused for row in rows)}"


def write_markdown(path, rows):
    lines = ["| " + " | ".join(words) + " |" for words in (HEAD, ("---",) * len(HEAD), *(row.words() for row in rows))]
    Path(path).write_text("\n".join((*lines, "", totals(rows), "")))


def print_findings(row):
    for line in (*row.standing, *(finding["text"] for finding in row.findings[:3])):
        print(f"    {line}", flush=True)


def rows_of(some):
    begin = time.monotonic()
    print(line_of(HEAD), flush=True)
    for number, kind in enumerate(some, 1):
        print(f"{number} of {len(some)}, {time.monotonic() - begin:.0f} s: {kind.name}", file=sys.stderr, flush=True)
        if why := kind.cannot():
            print(f"{kind.name:20}  skipped: {why}", flush=True)
            continue
        row = row_of(kind)
        print(line_of(row.words()), flush=True)
        if options.findings:
            print_findings(row)
        yield row


def main():
    some = [kind for kind in kinds.all_kinds()
            if not options.names or any(fnmatch.fnmatch(kind.name, name) for name in options.names)]
    if options.list:
        print("\n".join(f"{kind.name:20}  {kind.reports}" for kind in some))
        return
    rows = list(rows_of(some))
    print(totals(rows))
    if options.markdown:
        write_markdown(options.markdown, rows)


if __name__ == "__main__":
    main()
