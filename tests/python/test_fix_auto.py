#!/usr/bin/env python3
"""The fix `auto`, on programs whose steps become shorter or longer with the collector's thresholds: what is planted is the program, the
fix is `gc` as users have it. Times differ by so much that a busy machine hides none of it; nothing here asks how long a trial takes."""

import signal
import time

import probed
from probed import BUILD, COMMAND, PRELOAD, ProbedTest

MODULES = {"PYTHONPATH": str(BUILD / "lib/hostprobe/python")}

# Marks steps until it is told to end; a step is as long as HOW says, by whether the thresholds are raised. Prints them last.
STEPS = """
import gc, os, sys, time
import hostprobe
folder = sys.argv[1]
def told(name):
    return os.path.exists(folder + "/" + name)
number = 0
while not told("end"):
    raised = gc.get_threshold()[0] == 50000
    time.sleep(HOW)
    number += 1
    MARK
time.sleep(2)  # what is being taken back is taken back
print(*gc.get_threshold())
"""
HELPS = "0.004 if raised else 0.02"
HARMS = "0.02 if raised else 0.004"
TURNS = "(0.06 if told('turns') else 0.004) if raised else 0.02"
USUAL, RAISED = "700 10 10\n", "50000 50 1000\n"


class FixAuto(ProbedTest):
    def stepping(self, how, *options, fix="auto:gc", mark="hostprobe.step(number)", name="steps", **changes):
        script = self.folder / f"{name}.py"
        script.write_text(STEPS.replace("HOW", how).replace("MARK", mark))
        run = COMMAND, "run", "-o", self.run_folder, "--fix", fix, *options, "--"
        process = self.start(*(run if fix else ()), "/usr/bin/python3", script, self.folder, **MODULES, **changes)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def end(self, *processes):
        (self.folder / "end").touch()
        return [self.finish(process)[0] for process in processes]

    def until(self, found):
        """The first thing that `found` finds in the report of the run while it goes on."""
        for _ in range(600):
            if any(path.stat().st_size for path in self.run_folder.glob("*.hptrace")):
                got = found(self.report())
                if got:
                    return got
            time.sleep(0.5)
        self.fail(f"never told: {self.events()}")

    def events(self, report=None):
        return [e["text"] for p in (report or self.report())["processes"] for e in p["events"] if e["kind"] == "fix"]

    def until_event(self, part):
        return self.until(lambda report: [text for text in self.events(report) if part in text])

    def trials(self):
        return self.until(lambda report: report["trials"])

    def pid(self, rank=None):
        return self.until(lambda report: [p["pid"] for p in report["processes"] if p["rank"] == rank])[0]

    def test_what_helps_is_kept_until_it_turns_harmful(self):
        process = self.stepping(TURNS, "--mode", "monitor")
        trial = self.trials()[0]
        self.assertEqual((trial["fix"], trial["decision"]), ("gc", "kept"))
        self.assertGreater(trial["gain_low_pct"], 0.5)
        self.assertGreater(trial["step_without_ms"], trial["step_with_ms"])
        self.assertGreaterEqual(trial["windows_with"], 8)
        (self.folder / "turns").touch()
        self.until_event("auto: gc is taken back")
        self.until_event("gc off")
        self.assertEqual(self.end(process), [USUAL])

    def test_what_harms_is_restored_and_off_and_on_tries_again(self):
        process = self.stepping(HARMS)
        self.assertEqual(self.trials()[0]["decision"], "harmful")
        self.run_program(COMMAND, "ctl", self.pid(), "fix", "off", "auto")
        self.until_event("auto off")
        self.run_program(COMMAND, "ctl", self.pid(), "fix", "on", "auto")
        self.until(lambda report: len(report["trials"]) == 2)
        self.assertEqual(self.end(process), [USUAL])

    def test_off_takes_back_what_was_kept(self):
        process = self.stepping(HELPS, "--mode", "trace")
        self.assertEqual(self.trials()[0]["decision"], "kept")
        self.run_program(COMMAND, "ctl", self.pid(), "fix", "off", "auto")
        self.until_event("gc off")
        self.assertEqual(self.end(process), [USUAL])

    def test_unknown_names_are_said_and_nothing_is_tried(self):
        preload = {"LD_PRELOAD": str(PRELOAD), "HOSTPROBE_OUT": str(self.run_folder), "HOSTPROBE_TARGET": "all"}
        process = self.stepping(HELPS, fix=None, HOSTPROBE_FIX="auto:gc,warp", **preload)  # `run` would refuse it
        said = self.run_program(COMMAND, "ctl", self.pid(), "fix", "on", "auto:warp", status=1)[1]
        self.assertIn("no fix 'warp'", said)
        (self.folder / "end").touch()
        out, said = self.finish(process)
        self.assertIn("no fix 'warp'", said)
        self.assertEqual(out, USUAL)
        self.assertEqual(self.events(), [])

    def test_without_steps_nothing_is_tried(self):
        process = self.stepping(HELPS, mark="pass")
        self.pid()
        self.assertEqual(self.end(process), [USUAL])
        self.assertEqual(len([text for text in self.events() if "auto tried nothing: too few steps" in text]), 1)

    def test_a_trial_without_enough_steps_decides_nothing(self):
        process = self.stepping(HELPS)
        self.until_event("gc on")
        self.end(process)
        trial = self.report()["trials"][0]
        self.assertEqual((trial["decision"], trial["gain_low_pct"]), ("undecided", None))

    def ranks(self, how, **changes):
        return [self.stepping(how, name=f"rank{rank}", RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="here", MASTER_PORT="1",
                              **changes) for rank in range(2)]

    def test_a_rank_without_the_others_tries_nothing(self):
        process = self.stepping(HELPS, RANK="0", WORLD_SIZE="2")
        while not list(self.run_folder.glob("*.hpjob")):
            time.sleep(0.1)
        self.assertEqual(self.end(process), [USUAL])
        self.assertIn("auto tried nothing: not all ranks were there", self.events())
        self.assertEqual(list(self.run_folder.glob("*.hpjob")), [])

    def test_ranks_of_two_hosts_try_nothing(self):
        processes = self.ranks(HELPS, SIMNODE_HOSTS="2")
        self.until_event("1 of 2 ranks make steps on this host")
        self.assertEqual(self.end(*processes), [USUAL, USUAL])

    def test_ranks_decide_together_by_the_slowest(self):
        # With the fix rank 0 is faster and rank 1 slower, by more: the job is slower.
        processes = self.ranks("(0.004 if raised else 0.02) if os.environ['RANK'] == '0' else (0.05 if raised else 0.02)")
        trials = self.trials()
        self.assertEqual([(t["rank"], t["decision"]) for t in trials], [(0, "harmful")])
        self.assertEqual(self.end(*processes), [USUAL, USUAL])
        self.assertEqual(list(self.run_folder.glob("*.hpjob")), [])

    def test_ranks_keep_together_what_helps(self):
        processes = self.ranks(HELPS)
        self.assertEqual([(t["rank"], t["decision"]) for t in self.trials()], [(0, "kept")])
        pid = self.pid(rank=1)
        self.run_program(COMMAND, "ctl", pid, "fix", "off", "auto")
        self.until(lambda report: len([t for t in self.events(report) if t.startswith("gc off")]) == 2)
        self.assertEqual(self.end(*processes), [USUAL, USUAL])

    def test_a_rank_that_is_killed_ends_the_trial(self):
        processes = self.ranks(HELPS)
        self.until_event("gc on")
        self.run_program("/bin/kill", "-9", self.pid(rank=1))
        self.until_event("auto ends: a rank is gone")
        (self.folder / "end").touch()
        self.assertEqual(self.finish(processes[0])[0], USUAL)
        self.finish(processes[1], status=128 + signal.SIGKILL)
        self.assertEqual([t["decision"] for t in self.report()["trials"]], ["undecided"])


if __name__ == "__main__":
    probed.main_together()
