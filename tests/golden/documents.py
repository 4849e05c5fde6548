#!/usr/bin/env python3
"""What the command says of runs that are the same bytes each time, compared byte for byte with tests/golden/documents: reports
as text and JSON, differences of runs, dumps, tables and timelines. It guards moves of code that may change no document.

documents.py [--build BUILD] [NAME…]     compares, of the runs NAME only where any is named
documents.py --write                     takes what is said now as what is expected
documents.py --against BUILD             compares with what another build says
documents.py --keep FOLDER               also leaves every document in FOLDER
documents.py --empty                     prints the keys of JSON that are null or empty in all documents

A file of documents/ holds the documents of one run. Of those that are long only the SHA-256 sum is kept, in index.txt.
"""

import argparse
import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from documents_runs import PAIRS, make_runs, outputs_of

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "documents"
INDEX = EXPECTED / "index.txt"
# Bytes of a document that is kept whole, of a run's whole report as JSON, and of a difference as JSON.
LONGEST, LONGEST_REPORT, LONGEST_DIFFERENCE = 8_000, 60_000, 13_500
HEAD, SAME = "=== hostprobe ", "(as of hostprobe "
MOST_LINES = 60  # of a difference


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOSTPROBE_", "LC_", "LANG"))}
    return {**kept, "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "120", "TERM": "dumb"}


class Build:
    """The command of one build, and what becomes of its version in documents. It reads the accounts that some runs carry of their
    GPUs; of the others it says what `hostprobe` says. Builds from before there were two have one command for both."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        commands = [self.folder / "bin" / name for name in ("hostprobe_with_account", "hostprobe")]
        self.command = next((one for one in commands if one.exists()), commands[0])
        if not self.command.exists():
            raise SystemExit(f"documents.py: {self.command} is missing: build it, or name a build with --build")
        version, commit = subprocess.run([self.command, "--version"], capture_output=True, text=True, check=True).stdout.split()[1:3]
        self.words = [(commit.strip("()"), "COMMIT"), (f'"version": "{version}"', '"version": "VERSION"'),
                      (f"hostprobe {version}", "hostprobe VERSION")]

    def run(self, words, folder):
        """Standard output, and behind it what else came of the command."""
        done = subprocess.run([self.command, *words], cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True)
        said = done.stdout
        if done.stderr:
            said += b"--- standard error\n" + done.stderr
        if done.returncode:
            said += b"--- status %d\n" % done.returncode
        for word, name in self.words:
            said = said.replace(word.encode(), name.encode())
        return said


def documents_of(build, names, folder):
    """{(run, command line): bytes}, in the order in which they are said."""
    runs = make_runs(build, folder)
    found = {}
    for run in runs:
        if names and run not in names:
            continue
        for words, path in outputs_of(run, runs[run]):
            said = build.run(words, folder)
            if path is not None and (folder / path).exists():
                said = (folder / path).read_bytes() + said
            found[run, " ".join(words)] = said
    return found


def digest(said):
    return f"{hashlib.sha256(said).hexdigest()} {len(said)}"


def is_kept(run, words, said):
    longest = LONGEST_REPORT if words == f"report --json {run}" else LONGEST_DIFFERENCE if words.startswith("diff --json ") else LONGEST
    return b"\0" not in said and len(said) <= longest


def in_one(run, documents):
    """The text of a file of documents/."""
    first, text = {}, ""
    for words, said in documents:
        if not is_kept(run, words, said):
            continue
        same = first.setdefault(said, words)
        text += f"{HEAD}{words}\n" + (said.decode(errors="replace") if same == words else f"{SAME}{same})\n")
        text += "" if text.endswith("\n") else "\n"
    return text


def by_run(documents):
    runs = {}
    for (run, words), said in documents.items():
        runs.setdefault(run, []).append((words, said))
    return runs


def read_index():
    """{(run, command line): sum and length}"""
    lines = INDEX.read_text().splitlines() if INDEX.exists() else []
    index = {}
    for line in lines:
        sum_, length, run, words = line.split(" ", 3)
        index[run, words] = f"{sum_} {length}"
    return index


def write(documents, names):
    """What runs that could not be made here, or were not named, said before stays."""
    EXPECTED.mkdir(exist_ok=True)
    runs = by_run(documents)
    index = {key: sum_ for key, sum_ in read_index().items() if key[0] not in runs}
    index.update((key, digest(said)) for key, said in documents.items())
    INDEX.write_text("".join(f"{sum_} {run} {words}\n" for (run, words), sum_ in sorted(index.items())))
    for run, said in runs.items():
        (EXPECTED / f"{run}.txt").write_text(in_one(run, said), errors="replace")
    kept = {run for run, _ in index}
    for path in EXPECTED.glob("*.txt"):
        if path != INDEX and path.stem not in kept:
            path.unlink()
    print(f"{len(documents)} documents of {len(runs)} runs are written to {EXPECTED}")


def difference(expected, found, name):
    lines = list(difflib.unified_diff(expected.splitlines(), found.splitlines(), f"{name}: expected", f"{name}: now", lineterm="", n=3))
    more = [f"… and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
    return "\n".join(lines[:MOST_LINES] + more)


def expected_text(run, words):
    """Of the file of that run; None: only its sum is kept."""
    path = EXPECTED / f"{run}.txt"
    parts = ("\n" + path.read_text()).split("\n" + HEAD) if path.exists() else []
    text = next((part[len(words) + 1:] for part in parts if part.startswith(words + "\n")), None)
    return expected_text(run, text.strip().removeprefix(SAME).removesuffix(")")) if text and text.startswith(SAME) else text


def show(key, said):
    """The first document that differs."""
    run, words = key
    old, now = expected_text(run, words), said.decode(errors="replace")
    if old is None:
        print(f"hostprobe {words}: now {digest(said)}, which is too long to be kept whole: compare with a build of the commit\n"
              f"before, by documents.py --against BUILD {run}")
    else:
        # The file's last line end was taken for the begin of the next head.
        print(difference(old, now.removesuffix("\n"), f"hostprobe {words}"))


def compare(documents, names):
    """Differences are printed; how many there are."""
    index = read_index()
    runs = {run for run, _ in documents}
    missing = [key for key in index if key not in documents and key[0] in runs]
    differing = [key for key, said in documents.items() if index.get(key) != digest(said)]
    if differing:
        show(differing[0], documents[differing[0]])
    for run, words in differing:
        print(f"{'differs' if (run, words) in index else 'is new'}: hostprobe {words}")
    for run, words in missing:
        print(f"is no longer made: hostprobe {words}")
    for run in sorted({run for run, _ in index} - runs if not names else ()):
        print(f"skipped: {run}, whose profile is not there")
    return len(differing) + len(missing)


def compare_builds(documents, others):
    differing = [key for key in documents if others.get(key) != documents[key]]
    for run, words in differing:
        print(f"differs: hostprobe {words}")
    if differing:
        old, now = (each.get(differing[0], b"").decode(errors="replace") for each in (others, documents))
        print(difference(old, now, f"hostprobe {differing[0][1]}"))
    return len(differing)


def same_as(documents):
    """Documents that must be the same as another one, whatever they say: (command line, the other one)."""
    wrong = []
    for (run, words), said in documents.items():
        plain = words.replace(" --memory-mb 0", "")
        if plain != words and said != documents.get((run, plain)):
            wrong.append((words, plain))
    return wrong


def keep(documents, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for (run, words), said in documents.items():
        (folder / words.replace("/", "_").replace(" ", "_")).write_bytes(said)


def note_keys(value, path, seen):
    if isinstance(value, dict):
        for key, one in value.items():
            note_keys(one, f"{path}.{key}", seen)
    elif isinstance(value, list):
        for one in value:
            note_keys(one, path + "[]", seen)
    if path:
        seen[path] = seen.get(path, False) or value not in (None, [], {}, "", 0, False)


def print_empty(documents):
    seen = {}
    for (_, words), said in documents.items():
        if words.startswith(("report", "diff")) and said.startswith(b"{"):
            note_keys(json.loads(said.split(b"--- standard error")[0].split(b"--- status")[0]), "", seen)
    for path in sorted(path for path, is_full in seen.items() if not is_full):
        print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--empty", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostprobe-documents-") as folder:
        documents = documents_of(Build(options.build), options.names, Path(folder))
    if not documents:
        raise SystemExit("documents.py: there is no such run")
    if options.keep:
        keep(documents, options.keep)
    if options.empty:
        return print_empty(documents)
    wrong = same_as(documents)
    for words, plain in wrong:
        print(f"hostprobe {words} differs from hostprobe {plain}")
    if options.write:
        write(documents, options.names)
        return 1 if wrong else 0
    if options.against:
        with tempfile.TemporaryDirectory(prefix="hostprobe-documents-") as folder:
            others = documents_of(Build(options.against), options.names, Path(folder))
        count = compare_builds(documents, others)
    else:
        count = compare(documents, options.names)
    print(f"{len(documents)} documents, {count} of them differ")
    if count and not options.against:
        print(f"If that is meant: {Path(__file__)} --build {options.build} --write, and read what git diff says")
    return 1 if count or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
