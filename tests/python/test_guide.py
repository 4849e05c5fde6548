#!/usr/bin/env python3
"""docs/guide.md: every command of it is typed as it stands there, and what the page says of them holds.

test_guide.py [-v] [Test.test_…]; HOSTPROBE_TEST_BUILD is the build folder
"""

import json
import os
import re
import shutil
import unittest

import probed
from probed import COMMAND, SOURCE, path_of

PAGE = SOURCE / "docs/guide.md"


class Guide(probed.ProbedTest):
    def test_its_commands_find_the_fault_and_prove_the_change(self):
        (self.folder / "examples").symlink_to(SOURCE / "examples")
        commands = [line for block in re.findall(r"(?ms)^```sh\n(.*?)^```", PAGE.read_text()) for line in block.splitlines()]
        self.assertGreater(len(commands), 7)
        torch = path_of("TORCH_PYTHON").parent
        environment = {"PATH": f"{COMMAND.parent}:{torch}:{os.environ['PATH']}"}
        for command in commands:
            with self.subTest(command=command):
                self.assertTrue(shutil.which(command.split()[0], path=environment["PATH"]))
                said, _ = self.run_program("sh", "-c", command, **environment)
                if command == "hostprobe report slow":
                    first = said
        document = json.loads(self.run_program(COMMAND, "report", "slow", "--json")[0])
        self.assertEqual(document["verdict"]["word"], "input bound", first)
        self.assertEqual(document["findings"][0]["cause"], "dataloader_wait")
        for answer in ("INPUT BOUND", "train_ddp.py:", "Samples.__getitem__", "->", "gain"):
            self.assertIn(answer, first)
        self.assertGreater((self.folder / "slow.html").stat().st_size, 10_000)
        change = json.loads(self.run_program(COMMAND, "diff", "slow", "fast", "--json")[0])
        self.assertTrue(change["steps"]["significant"])
        self.assertLess(change["steps"]["change_pct"], 0)


if __name__ == "__main__":
    probed.main()
