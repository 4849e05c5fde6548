#!/usr/bin/env python3
"""Commands of README and docs: each is one that the command line takes, and those that read a run do so on a run that was made.

test_docs.py [-v] [Class.test_…]; HOSTPROBE_TEST_BUILD is the build folder. The guide's are typed as they stand: tests/python/test_guide.py.
"""

import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", SOURCE / "build")).absolute()
COMMAND = BUILD / "bin/hostprobe"
PAGES = [SOURCE / "README.md", *(page for folder in ("docs", "docs/reference", "docs/causes") for page in sorted((SOURCE / folder).glob("*.md")))]
# Of a job that runs, of root, or of files that a page only speaks of: these are run by the tests of their commands.
NOT_HERE = ("run", "top", "stacks", "ctl", "sched", "import", "recover", "job", "agent")
READ_A_RUN = ("report", "diff", "dump", "export", "explain", "hooks")
PATH_FOLLOWS = ("--csv", "--chrome", "--perfetto", "--html")  # a sentence may leave it out


def lines_of(text):
    """What stands in blocks and between single quotes, without what explains it behind two blanks."""
    for block in re.findall(r"(?ms)^```\w*\n(.*?)^```", text):
        for line in block.splitlines():
            found = re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(hostprobe [^·…]*)", line)
            for part in re.split(r" {2,}(?=hostprobe )", found[1]) if found else ():
                yield re.split(r" {2,}", part)[0]
    for quoted in re.findall(r"`(hostprobe [^`…]*)`", re.sub(r"(?ms)^```.*?^```", "", text)):
        yield re.split(r"[|;&<>\[]", quoted)[0]


def commands():
    """(page, words) of each."""
    for page in PAGES:
        for line in lines_of(page.read_text()):
            try:
                words = shlex.split(re.split(r" [|;&>]", line)[0], comments=True)
            except ValueError:
                continue  # a sentence's apostrophe
            if len(words) > 1 and words[0] == "hostprobe" and re.fullmatch(r"[a-z]+", words[1]):
                yield str(page.relative_to(SOURCE)), words[1:]


def ask(*words, folder=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOSTPROBE_")}
    return subprocess.run([COMMAND, *words], cwd=folder, env=kept, capture_output=True, text=True, timeout=100)


class DocsTest(unittest.TestCase):
    def test_every_command_and_option_is_there(self):
        helps, seen = {}, 0
        for page, words in commands():
            name = words[0]
            if name not in helps:
                done = ask(name, "--help")
                helps[name] = done.stdout if done.returncode == 0 else ""
            with self.subTest(page=page, command=" ".join(words)):
                self.assertTrue(helps[name], "no such command")
                own = words[1:words.index("--")] if "--" in words else words[1:]
                for flag in (word.split("=")[0] for word in own if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word)):
                    self.assertRegex(helps[name], rf"(?m){flag}\b")
                    seen += 1
        self.assertGreater(len(helps), 12)
        self.assertGreater(seen, 20)

    def test_those_that_read_a_run_do_so(self):
        with tempfile.TemporaryDirectory(prefix="hostprobe-docs-") as folder:
            subprocess.run([BUILD / "bin/golden_runs", folder], check=True)
            place = {"RUN": "python", "slow": "python", "run": "python", "BEFORE": "python", "A": "python", "baseline": "python", "AFTER": "threads",
                     "B": "threads", "fast": "threads", "CAUSE": "gc_pause", "N": "0", "FILE": "page.html", "PATH": "out", "3": "0",
                     "HANG": "stuck", "TABLE": "waits"}
            done = 0
            for page, words in sorted(set((page, tuple(words)) for page, words in commands())):
                is_mention = len(words) == 1 or (words[0] in READ_A_RUN and (words[1].startswith("-") or words[-1] in PATH_FOLLOWS))
                if words[0] in NOT_HERE or is_mention or {"--fail-over", "--job-a", "--ranks"} & set(words):  # of two jobs, of many ranks
                    continue
                typed = [place.get(word, word) for word in words]
                with self.subTest(page=page, command=" ".join(words)):
                    said = ask(*typed, folder=folder)
                    self.assertEqual(said.returncode, 0, f"{typed}: {said.stderr}")
                done += 1
            self.assertGreater(done, 15)


if __name__ == "__main__":
    unittest.main()
