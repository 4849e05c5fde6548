#!/usr/bin/env python3
"""Triton compiles a kernel and launches it 400 times on the simulated driver; the report says 400."""

import json
from pathlib import Path

import probed
from probed import ProbedTest, path_of

SCRIPT = Path(__file__).resolve().parent / "triton_400.py"


class Triton(ProbedTest):
    def test_400_launches_are_400_in_the_report(self):
        counts = self.folder / "counts"
        out, _ = self.record(path_of("TRITON_PYTHON"), SCRIPT, options=("--simgpu", "1"), SIMNODE_COUNTS=str(counts),
                             TRITON_CACHE_DIR=str(self.folder / "triton"))
        self.assertEqual(out, "launched 400\n")
        entered = [json.loads(path.read_text()) for path in counts.glob("*.json")]
        self.assertEqual(sum(c.get("cuLaunchKernelEx", 0) for c in entered), 400, "the simulated driver's own count")
        launching = [p for p in self.report()["processes"] if p.get("launches", {}).get("count")]
        self.assertEqual(len(launching), 1)
        launches = launching[0]["launches"]
        self.assertEqual((launches["count"], launches["by_function"]), (400, {"cuLaunchKernelEx": 400}))
        self.assertEqual(launching[0]["lost"], 0)
        kernels = [line["args"]["kernel"] for line in self.dump() if line.get("function") == "cuLaunchKernelEx"]
        self.assertEqual(kernels, ["add_one"] * 400)

    def test_a_warm_kernel_cache_changes_nothing(self):
        for run in ("cold", "warm"):
            self.run_folder = self.folder / run
            self.record(path_of("TRITON_PYTHON"), SCRIPT, options=("--simgpu", "1"),
                        TRITON_CACHE_DIR=str(self.folder / "triton"))
            counts = [p["launches"]["count"] for p in self.report()["processes"] if p.get("launches", {}).get("count")]
            self.assertEqual(counts, [400])


if __name__ == "__main__":
    probed.main()
