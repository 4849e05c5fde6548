#!/usr/bin/env python3
"""Windows of PyTorch's own profiler, in programs that know nothing of hostprobe: `hostprobe ctl PID profile`, HOSTPROBE_PROFILE."""

import json
import os
import signal
import time

import probed
from probed import COMMAND, ProbedTest, path_of

TRAINS = """
import gc, os, sys, time
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while not any("hostprobe" in repr(one) for one in gc.callbacks):
    time.sleep(0.01)
while not sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks:
    gc.collect()
    time.sleep(0.01)
module = sys.modules["torch.autograd.profiler"]
def state():
    return (list(sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks), module._prepare_profiler,
            module._enable_profiler, module._is_profiler_enabled)
before = state()
def step(seconds=0.002):
    model(torch.ones(4, 64)).sum().backward()
    time.sleep(seconds)
    optimizer.step()
    optimizer.zero_grad()
"""
# Until somebody lets it go, then some steps more.
UNTIL_TOLD = TRAINS + """
print(os.getpid(), flush=True)
while not os.path.exists("enough"):
    step(float(os.environ.get("STEP_S", "0.002")))
print(state() == before, torch.autograd._profiler_enabled(), flush=True)
"""
BY_NUMBER = TRAINS + """
for number in range(75):
    step(LENGTHS.get(number, 0.03))
time.sleep(0.6)
print(state() == before)
"""
OWN_PROFILER = TRAINS + """
print(os.getpid(), flush=True)
profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
if EARLY:
    profile.start()
while not os.path.exists("begin"):
    step(0.05)
if not EARLY:
    profile.start()
for _ in range(10):
    step()
profile.stop()
profile.export_chrome_trace("own.json")
while not os.path.exists("enough"):
    step()
"""
# What makes tokens has no optimizer: its launches alone tell of steps.
DECODES = """
import ctypes, os, time
import torch
torch.set_num_threads(1)
cuda = ctypes.CDLL("libcuda.so.1")
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
NAMES = ("attend", "project", "sample")
ptx = ".version 7.0\\n.target sm_50\\n.address_size 64\\n" + "".join(".visible .entry %s() { ret; }\\n" % name for name in NAMES)
assert cuda.cuModuleLoadData(ctypes.byref(module), ptx.encode()) == 0
kernels = []
for name in NAMES:
    assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, name.encode()) == 0
    kernels.append(kernel.value)
print(os.getpid(), flush=True)
while not os.path.exists("enough"):
    for one in kernels:
        assert cuda.cuLaunchKernel(ctypes.c_void_p(one), 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
    assert cuda.cuStreamSynchronize(None) == 0
    torch.ones(4, 4).sum()
    time.sleep(0.004)
print(torch.autograd._profiler_enabled(), flush=True)
"""
RANKS = TRAINS + """
import torch.distributed as dist
dist.init_process_group("gloo")
open("ready%d" % dist.get_rank(), "w").close()
while True:
    flag = torch.tensor([1.0 if os.path.exists("enough") else 0.0])
    dist.all_reduce(flag)
    if flag.item():
        break
    step()
dist.destroy_process_group()
"""


class Windows(ProbedTest):
    def train(self, text, options=(), **changes):
        (self.folder / "program.py").write_text(text)
        process = self.start(COMMAND, "run", "-o", self.run_folder, *options, "--", path_of("TORCH_PYTHON"), "program.py", **changes)
        self.addCleanup(self.stop, process)
        return process, int(process.stdout.readline())

    def stop(self, process):
        for name in ("begin", "enough"):
            (self.folder / name).touch()
        if process.poll() is None:
            process.communicate()

    def ctl(self, target, *words, status=0):
        return self.run_program(COMMAND, "ctl", target, *words, status=status)

    def let_go(self, process):
        (self.folder / "enough").touch()
        return self.finish(process)

    def window_ended(self, pid, count=1):
        for _ in range(400):
            status = json.loads(self.ctl(pid, "status", "--json")[0])["profile_windows"]
            if status["state"] == "none" and status["count"] >= count or status["last_refused"]:
                return status
            time.sleep(0.05)
        self.fail(f"the window did not end: {status}")

    def events(self):
        return [event for process in self.report()["processes"] for event in process["events"] if event["kind"] == "profile"]

    def imported(self):
        return [process for process in self.report()["processes"] if process["cpu_ms"] is None]

    def names(self, ending):
        return sorted(path.name for path in self.run_folder.glob("*" + ending))

    def test_a_window_that_was_asked_for_is_joined_and_leaves_nothing_behind(self):
        process, pid = self.train(UNTIL_TOLD)
        _, said = self.ctl(pid, "profile", "--steps", "4")
        self.assertIn("records its next 4 steps into", said)
        self.assertIn("4 steps at", self.window_ended(pid)["last"])
        self.assertEqual(self.let_go(process)[0], "True False\n")
        self.assertEqual((len(self.names(".profile.joined.json")), self.names(".profile.json"), self.names(".part.json")), (1, [], []))
        [event] = self.events()
        self.assertEqual(event["window"], 1)
        # What is usual is said where enough steps came before: on a busy machine fewer do.
        self.assertRegex(event["text"],
                         r"^4 steps at \S+ ms(, usual \S+ ms \(\S+ %\))?; start \S+ ms, stop and export \S+ ms$")
        text = self.run_program(COMMAND, "report", self.run_folder, "actions")[0]
        self.assertIn("profile window 1, ", text)
        [window] = self.imported()
        self.assertEqual(window["pid"], pid)
        steps = [record for record in self.dump() if record.get("function") == "ProfilerStep"]
        self.assertEqual(len([one for one in steps if one["pid"] == pid]), 4)
        regions = {region["name"]: region for one in self.report()["processes"] for region in one["regions"]}
        self.assertEqual(regions["profile_window"]["count"], 1)
        path = self.run_folder / self.names(".profile.joined.json")[0]
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_a_window_stands_on_the_clock_of_the_run(self):
        process, pid = self.train(UNTIL_TOLD)
        self.ctl(pid, "profile")
        self.window_ended(pid)
        self.let_go(process)
        records = [r for r in self.dump()]
        [whole] = [r for r in records if r.get("function") == "hostprobe_region" and r["args"]["name"] == "profile_window"]
        steps = [r for r in records if r.get("function") == "ProfilerStep"]
        self.assertEqual(len(steps), 3)
        for step in steps:
            self.assertGreater(step["begin_ns"], whole["begin_ns"] - 2e6)
            self.assertLess(step["begin_ns"] + step["duration_ns"], whole["begin_ns"] + whole["duration_ns"] + 2e6)

    def test_windows_of_all_ranks_of_a_job(self):
        (self.folder / "program.py").write_text(RANKS)
        process = self.start(COMMAND, "run", "-o", self.run_folder, "--", path_of("TORCH_PYTHON"), "-m",
                             "torch.distributed.run", "--nproc-per-node=2", "program.py", OMP_NUM_THREADS="1")
        self.addCleanup(self.stop, process)
        while len(list(self.folder.glob("ready*"))) < 2:
            time.sleep(0.1)
        _, said = self.ctl(self.run_folder, "profile", "--steps", "2")
        self.assertEqual(said.count("records its next 2 steps into"), 2, said)
        for _ in range(300):
            if len(self.names(".profile.json")) == 2:
                break
            time.sleep(0.1)
        self.let_go(process)
        self.assertEqual(sorted(one["rank"] for one in self.imported()), [0, 1])
        self.assertEqual(len(self.events()), 2)

    def test_the_report_of_a_running_process_joins_as_well(self):
        process, pid = self.train(UNTIL_TOLD)
        self.ctl(pid, "profile", "--steps", "1")
        self.window_ended(pid)
        self.assertEqual(len(self.imported()), 1)
        self.assertEqual(len(self.imported()), 1)
        self.let_go(process)

    def test_windows_by_number(self):
        self.record(path_of("TORCH_PYTHON"), self.script(BY_NUMBER.replace("LENGTHS", "{}")),
                    options=("--profile", "every=20,steps=2"))
        self.assertEqual(len(self.names(".profile.joined.json")), 3)
        self.assertEqual([event["window"] for event in self.events()], [1, 2, 3])

    def test_a_window_behind_a_slow_step(self):
        out, _ = self.record(path_of("TORCH_PYTHON"), self.script(BY_NUMBER.replace("LENGTHS", "{30: 0.4}")),
                             options=("--profile", "slow=3,steps=2"))
        self.assertEqual(out, "True\n")
        self.assertEqual(len(self.names(".profile.joined.json")), 1)

    def script(self, text):
        (self.folder / "program.py").write_text(text)
        return "program.py"

    def refused(self, pid, *words, why):
        _, said = self.ctl(pid, "profile", *words, status=1)
        self.assertIn(why, said)
        self.assertEqual(said.count("\n"), 1, said)

    def test_never_beside_a_profiler_of_the_program(self):
        process, pid = self.train(OWN_PROFILER.replace("EARLY", "True"))
        time.sleep(2)  # its profiler has begun
        self.refused(pid, why="a profiler of PyTorch runs in it already")
        (self.folder / "begin").touch()
        self.let_go(process)
        self.assertTrue((self.folder / "own.json").stat().st_size > 1000)
        self.assertIn("a profiler of PyTorch runs in it already", self.events()[0]["text"])

    def test_never_beside_a_profiler_of_the_program_that_warms_up(self):
        text = OWN_PROFILER.replace("EARLY", "True").replace("profile(activities", "profile(schedule=lambda step: "
                                                             "torch.profiler.ProfilerAction.WARMUP, activities")
        process, pid = self.train(text.replace("profile.export_chrome_trace", "print"))
        time.sleep(2)
        self.refused(pid, why="a profiler of the program is about to record")
        (self.folder / "begin").touch()
        self.let_go(process)

    def test_a_profiler_of_the_program_that_begins_in_a_window_goes_first(self):
        process, pid = self.train(OWN_PROFILER.replace("EARLY", "False"))
        self.ctl(pid, "profile", "--steps", "100")
        (self.folder / "begin").touch()
        self.assertIn("a profiler of the program's own began", self.window_ended(pid)["last"])
        self.let_go(process)
        self.assertEqual(len([one for one in json.loads((self.folder / "own.json").read_text())["traceEvents"]
                              if one.get("name", "").startswith("Optimizer.step")]), 10)

    def test_never_beside_another_tool(self):
        for name in ("CUDA_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID", "KINETO_USE_DAEMON"):
            with self.subTest(name=name):
                process, pid = self.train(UNTIL_TOLD, **{name: "1"})
                self.refused(pid, why=name + " is set")
                self.let_go(process)
                (self.folder / "enough").unlink()

    def test_one_window_at_a_time(self):
        process, pid = self.train(UNTIL_TOLD, STEP_S="0.1")
        self.ctl(pid, "profile", "--steps", "100")
        self.refused(pid, why="a window is asked for or open already")
        self.let_go(process)
        self.assertIn("the program ended inside of the window", self.events()[0]["text"])

    def test_a_process_that_is_killed_in_a_window_leaves_its_trace(self):
        process, pid = self.train(UNTIL_TOLD, STEP_S="0.1")
        self.ctl(pid, "profile", "--steps", "100")
        os.kill(pid, signal.SIGKILL)
        self.finish(process, 137)
        self.assertEqual((self.events(), self.names(".json")[0].endswith(".job.json")), ([], True))

    def test_a_folder_that_cannot_be_written_to(self):
        process, pid = self.train(UNTIL_TOLD)
        moved = self.folder / "moved"
        self.run_folder.rename(moved)
        self.refused(pid, why="the run folder cannot be written to")
        moved.rename(self.run_folder)
        self.let_go(process)

    def test_numbers_that_cannot_be(self):
        process, pid = self.train(UNTIL_TOLD)
        for number in ("0", "101", "-1", "many"):
            self.ctl(pid, "profile", "--steps", number, status=2)
        self.ctl(pid, "profile", "now", status=2)
        self.ctl(pid, "status", "--steps", "2", status=2)
        self.let_go(process)

    def test_a_python_without_torch_says_so(self):
        (self.folder / "program.py").write_text("import os, time\nprint(os.getpid(), flush=True)\n"
                                                "while not os.path.exists('enough'): time.sleep(0.01)\n")
        process = self.start(COMMAND, "run", "-o", self.run_folder, "--", "/usr/bin/python3", "program.py")
        pid = int(process.stdout.readline())
        for _ in range(100):  # until the interpreter has let hostprobe in
            _, said = self.finish(self.start(COMMAND, "ctl", str(pid), "profile"), status=1)
            if "try again" not in said and "does not record" not in said:
                break
            time.sleep(0.2)
        self.assertIn("no window: the program has not imported torch", said)
        self.let_go(process)

    def test_without_the_shim_it_says_so(self):
        process, pid = self.train(UNTIL_TOLD.replace("while not", "while False and not", 2), HOSTPROBE_PYTHON="0")
        time.sleep(0.5)
        self.refused(pid, why="HOSTPROBE_PYTHON=0")
        self.let_go(process)

    def test_a_program_that_is_no_python_says_so(self):
        process = self.start(COMMAND, "run", "-o", self.run_folder, "--", "/bin/sh", "-c", "echo $$; sleep 2; exit 0")
        pid = int(process.stdout.readline())
        _, said = self.ctl(pid, "profile", status=1)
        self.assertEqual(said.count("\n"), 1, said)
        self.finish(process)

    def test_rules_that_cannot_be(self):
        for value in ("every=0", "every=3,steps=3", "slow=1", "slow=x", "steps=3", "every=20,steps=101", "often"):
            with self.subTest(value=value):
                _, said = self.run_program(COMMAND, "run", "--profile", value, "--", "true", status=2)
                self.assertIn("--profile takes none, or every=N", said)

    def test_marked_steps_of_a_loop_without_an_optimizer(self):
        text = TRAINS.replace("optimizer.step()", "hostprobe.step()").replace("import torch\n", "import torch, hostprobe\n", 1)
        process, pid = self.train(text + UNTIL_TOLD[len(TRAINS):], PYTHONPATH=str(probed.BUILD / "lib/hostprobe/python"))
        self.ctl(pid, "profile", "--steps", "2")
        self.assertIn("2 steps at", self.window_ended(pid)["last"])
        self.assertEqual(self.let_go(process)[0], "True False\n")

    def test_steps_that_launches_alone_show(self):
        process, pid = self.train(DECODES, options=("--simgpu", "1"))
        while json.loads(self.ctl(pid, "status", "--json")[0])["steps"]["source"] != "detected":
            time.sleep(0.1)
        self.ctl(pid, "profile", "--steps", "20")
        self.assertRegex(self.window_ended(pid)["last"], r"^2\d steps at \S+ ms, usual \S+ ms")
        self.assertEqual(self.let_go(process)[0], "False\n")
        self.assertEqual(len(self.names(".profile.joined.json")), 1)


if __name__ == "__main__":
    probed.main()
