#!/usr/bin/env python3
"""The fixes `nice` and `numa`: what they change in running programs, what they put back, and what they say where they may not."""

import os
import unittest
from pathlib import Path

import probed
from placed import PlacedTest

GROUPS = Path("/proc/sys/kernel/sched_autogroup_enabled")
IS_GROUPING = GROUPS.exists() and GROUPS.read_text().strip() == "1"
NODES = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))


class FixNice(PlacedTest):
    def values(self, process):
        return {os.getpriority(os.PRIO_PROCESS, tid) for tid, _ in self.threads(process)}

    def group(self, process):
        """Its nice value; None for a process that was there before any session had a group."""
        said = Path(f"/proc/{process.traced}/autogroup").read_text().split() if IS_GROUPING else []
        return int(said[-1]) if said else None

    @unittest.skipUnless(os.geteuid() == 0, "root may")
    def test_on_and_off_on_a_running_program(self):
        process = self.place(setup="start('worker')\n")
        base = self.values(process)
        self.assertEqual(len(base), 1)
        lower = {max(-20, min(base) - 10)}
        is_grouped = self.group(process) is not None
        for _ in range(2):
            self.ctl(process, "on", "nice")
            self.until(lambda: self.values(process) == lower)
            self.ask(process, "start('later')")
            self.until(lambda: self.values(process) == lower)
            self.ctl(process, "off", "nice")
            self.until(lambda: self.values(process) == base)
        self.end(process)
        said = self.events_now(process)
        self.assertEqual([text.split(":")[0] for text in said], ["nice on", "nice off"] * 2)
        self.assertEqual("no effect on other sessions" in said[0], is_grouped)

    @unittest.skipUnless(os.geteuid() == 0 and IS_GROUPING, "root may, where sessions are grouped")
    def test_the_leader_of_a_session_raises_its_group(self):
        process = self.place("--fix", "nice", "--nice", "5", before=("setsid",))
        self.assertIn("its session's group too", self.await_event(process, "nice on"))
        self.assertEqual(self.group(process), -5)
        self.ctl(process, "off", "nice")
        self.until(lambda: self.group(process) == 0)
        self.end(process)

    def test_without_the_right_to(self):
        process = self.place("--fix", "nice", setup="os.chmod(folder, 0o777) or os.setgid(65534) or os.setuid(65534)\n")
        said = self.await_event(process, "nice refused")
        self.assertIn("RLIMIT_NICE", said)
        self.assertEqual(self.values(process), {os.getpriority(os.PRIO_PROCESS, 0)})
        self.end(process)

    def test_a_launcher_is_left_out(self):
        process = self.place("--fix", "nice", launches=False, HOSTPROBE_TARGET="all")
        self.ask(process, "time.sleep(1)")
        self.assertEqual(self.values(process), {os.getpriority(os.PRIO_PROCESS, 0)})
        self.end(process)
        self.assertEqual(self.events_now(process), [])


class FixNuma(PlacedTest):
    @unittest.skipIf(NODES > 1, "this machine has several nodes")
    def test_one_node(self):
        process = self.place("--fix", "numa")
        self.await_event(process, "numa stands back: one node, nothing to do")
        self.ctl(process, "off", "numa")
        self.end(process)
        self.assertEqual(len(self.events_now(process)), 1)


if __name__ == "__main__":
    probed.main()
