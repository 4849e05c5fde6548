#!/usr/bin/env python3
"""Programs nobody here wrote, on the simulated driver: each to its end, on one and on two devices, as devices of three
generations under an older and a newer driver; bare and recorded. What they say they launched is what the simulated driver was asked
to launch, and what the report says.

test_real_programs.py [-v] [RealPrograms.test_tinygrad …]
"""

import json
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import probed  # noqa: E402
from probed import COMMAND, SIMNODE, ProbedTest, entered, path_of  # noqa: E402

LAUNCHES = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuGraphLaunch", "cuLaunchHostFunc")
MATRIX = [(capability, driver, devices) for capability in (75, 90, 120) for driver in (12080, 13000) for devices in (1, 2)]
PAIRS = [(75, 12080, 1), (90, 13000, 2), (120, 12080, 2), (120, 13000, 1), (75, 13000, 2), (90, 12080, 1)]  # each with each


class RealPrograms(ProbedTest):
    def settings(self, capability, driver, devices, **more):
        # NVRTC and its like come from the wheels, so that no toolkit is needed.
        libraries = next(path_of("CLIENTS_PYTHON").parents[1].glob("lib/python3*/site-packages/nvidia/cu*/lib"))
        return {"SIMNODE_COMPUTE_CAPABILITY": str(capability), "SIMNODE_DRIVER_VERSION": str(driver),
                "SIMNODE_GPUS": str(devices), "LD_LIBRARY_PATH": f"{SIMNODE}:{libraries}",
                "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"), **more}

    def counts(self, folder):
        """What the simulated driver's own launch functions were entered, _ptsz forms counted with the others, of all processes."""
        total = {}
        for name, count in entered(folder).items():
            base = name.removesuffix("_ptsz")
            if base in LAUNCHES:
                total[base] = total.get(base, 0) + count
        return total

    def run_one(self, name, place, *command, record=False, **more):
        """Output and counts. On two devices the program is told to use the second."""
        settings = self.settings(*place, **more)
        folder = self.folder / f"{name}-{'-'.join(map(str, place))}-{'recorded' if record else 'bare'}"
        counts = folder / "counts"
        counts.mkdir(parents=True)
        command = [*command, str(place[2] - 1)]
        if record:
            command = [COMMAND, "run", "-o", folder / "run", "--", *command]
        out, err = self.run_program(*command, SIMNODE_COUNTS=str(counts), **settings)
        counted = self.counts(counts)
        if record:
            self.run_folder = folder / "run"
            self.check_report(counted)
        return out, err, counted

    def check_report(self, counted):
        report = {}
        for process in self.report()["processes"]:
            self.assertEqual(process["lost"], 0)
            for function, count in process.get("launches", {}).get("by_function", {}).items():
                base = function.removesuffix("_ptsz")
                report[base] = report.get(base, 0) + count
        self.assertEqual(report, counted, "the report and the simulated driver's own counts")

    def check(self, name, python, script, launched, matrix=MATRIX, recorded=PAIRS, **more):
        """`launched(output)` is what the program says it launched."""
        for place in matrix:
            with self.subTest(program=name, capability=place[0], driver=place[1], devices=place[2]):
                out, _, counted = self.run_one(name, place, python, script, **more)
                said = launched(out)
                self.assertGreater(sum(said.values()), 0)
                self.assertEqual(counted, said)
                if place in recorded:
                    out_recorded, _, counted_recorded = self.run_one(name, place, python, script, record=True, **more)
                    self.assertEqual(counted_recorded, said)
                    self.assertEqual(self.comparable(out_recorded), self.comparable(out))

    def comparable(self, out):
        """tinygrad prints times and paths; what it did, and in which order, is in the rest."""
        lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in out.splitlines()]
        return [" ".join(line.split()[:5]) for line in lines if not line.startswith(("opened device", "scheduled", "memory"))]

    def test_cuda_bindings(self):
        self.check("cuda-bindings", path_of("CLIENTS_PYTHON"), HERE / "bindings_launches.py", pairs_after_launched)

    def test_cuda_bindings_with_per_thread_default_streams(self):
        self.check("cuda-bindings-ptds", path_of("CLIENTS_PYTHON"), HERE / "bindings_launches.py", pairs_after_launched,
                   matrix=PAIRS[:2], CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM="1")

    def test_cuda_core(self):
        self.check("cuda.core", path_of("CLIENTS_PYTHON"), HERE / "core_launches.py", all_extended)

    def test_cuda_core_with_per_thread_default_streams(self):
        self.check("cuda.core-ptds", path_of("CLIENTS_PYTHON"), HERE / "core_launches.py", all_extended, matrix=PAIRS[:2],
                   CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM="1")

    def test_numba(self):
        self.check("numba-cuda", path_of("CLIENTS_PYTHON"), HERE / "numba_launches.py", all_extended,
                   NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0")

    def test_triton(self):
        self.check("triton", path_of("TRITON_PYTHON"), HERE.parent / "python/triton_400.py", all_extended, matrix=PAIRS,
                   recorded=PAIRS[:2], TRITON_CACHE_DIR=str(self.folder / "triton"))

    def test_tinygrad(self):
        self.check("tinygrad", path_of("CLIENTS_PYTHON"), HERE / "tinygrad_train.py", lines_of_tinygrad, matrix=PAIRS,
                   recorded=PAIRS[:2], DEV="CUDA", DEBUG="2", CACHELEVEL="0")

    def test_each_with_batched_launches(self):
        """The fix changes nothing that they do or say, whichever way they reach the driver."""
        clients, bindings = path_of("CLIENTS_PYTHON"), HERE / "bindings_launches.py"
        triton, fixed = {"TRITON_CACHE_DIR": str(self.folder / "triton")}, []
        for name, python, script, launched, more in (
                ("bindings", clients, bindings, pairs_after_launched, {}),
                ("bindings-ptds", clients, bindings, pairs_after_launched, {"CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM": "1"}),
                ("core", clients, HERE / "core_launches.py", all_extended, {}),
                ("numba", clients, HERE / "numba_launches.py", all_extended, {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"}),
                ("triton", path_of("TRITON_PYTHON"), HERE.parent / "python/triton_400.py", all_extended, triton),
                ("tinygrad", clients, HERE / "tinygrad_train.py", lines_of_tinygrad,
                 {"DEV": "CUDA", "DEBUG": "2", "CACHELEVEL": "0"})):
            with self.subTest(program=name):
                out, _, counted = self.run_one(name, (90, 13000, 2), python, script, **more)
                out_fixed, _, counted_fixed = self.run_one(name, (90, 13000, 2), python, script, record=True,
                                                           HOSTPROBE_FIX="batch_launch", **more)
                self.assertEqual(counted_fixed, counted)
                self.assertEqual(launched(out_fixed), counted)
                self.assertEqual(self.comparable(out_fixed), self.comparable(out))
                fixed += [event["text"] for process in self.report()["processes"] for event in process["events"]
                          if event["kind"] == "fix"]
        # One that ends within a quarter of a second of loading the driver may have ended before the fix was on.
        self.assertTrue(any(text.startswith("batch_launch on") for text in fixed), fixed)

    def test_gpustat(self):
        """It finds the devices, and a process that uses one of them."""
        settings = self.settings(90, 13000, 2)
        python = path_of("CLIENTS_PYTHON")
        user = self.start(python, "-c", "import sys, pathlib; sys.argv = ['x', '1']; "
                          f"exec(pathlib.Path({str(HERE / 'bindings_launches.py')!r}).read_text()); "
                          "print('ready', flush=True); import signal; signal.pause()", **settings)
        self.addCleanup(user.kill)
        for line in user.stdout:
            if line == "ready\n":
                break
        seen = json.loads(self.run_program(python, "-m", "gpustat", "--json", **settings)[0])
        self.assertEqual([gpu["name"] for gpu in seen["gpus"]], ["simnode GPU sm_90"] * 2)
        pids = [[process["pid"] for process in gpu["processes"] or []] for gpu in seen["gpus"]]
        self.assertNotIn(user.pid, pids[0])
        self.assertIn(user.pid, pids[1])
        user.kill()
        user.communicate()
        text = self.run_program(python, "-m", "gpustat", **settings)[0]
        self.assertEqual(text.count("simnode GPU sm_90"), 2)

    def test_bad_input_gives_the_errors_of_cuda(self):
        python = path_of("CLIENTS_PYTHON")
        prelude = "from cuda.bindings import driver as d; d.cuInit(0); c = d.cuDevicePrimaryCtxRetain(0)[1]; d.cuCtxSetCurrent(c); "
        for expression, expected in (("d.cuDeviceGet(7)[0]", "CUDA_ERROR_INVALID_DEVICE"),
                                     ("d.cuModuleLoadData(b'not a module')[0]", "CUDA_ERROR_INVALID_IMAGE"),
                                     ("d.cuMemAlloc(1 << 50)[0]", "CUDA_ERROR_OUT_OF_MEMORY"),
                                     ("d.cuMemFree(12345)[0]", "CUDA_ERROR_INVALID_VALUE"),
                                     ("d.cuStreamSynchronize(d.CUstream(12345))[0]", "CUDA_ERROR_INVALID_HANDLE")):
            with self.subTest(expression):
                out, _ = self.run_program(python, "-c", f"{prelude}print(({expression}).name)", **self.settings(90, 13000, 1))
                self.assertEqual(out, expected + "\n")


def pairs_after_launched(out):
    words = out.splitlines()[-1].split()
    return {name: int(count) for name, count in zip(words[1::2], words[2::2])}


def all_extended(out):
    return {"cuLaunchKernelEx": int(out.split("launched ")[1])}


def lines_of_tinygrad(out):
    """Its own lines with DEBUG=2: one for each kernel, one for each batch of kernels that it put into a graph."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).split() for line in out.splitlines()]
    what = [words[3] for words in lines if words[:1] == ["***"] and words[1].startswith("CUDA")]
    return {"cuLaunchKernel": len([w for w in what if w not in ("copy", "batched", "<batched")]),
            "cuGraphLaunch": len([w for w in what if "batched" in w])}


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    probed.main()
