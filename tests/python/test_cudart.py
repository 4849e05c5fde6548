#!/usr/bin/env python3
"""The real CUDA runtime gets hostprobe's wrappers for every launch and synchronise entry point.

It asks the driver for private tables to verify its authenticity; the simulated driver has none, and the runtime refuses it. That is
final, and nobody works around it. By then it has looked up all driver functions. See cudart.c.
"""

import probed
from probed import BUILD, ProbedTest, path_of

REFUSED = "error 500", "error 103"  # symbol not found; integrity checks failed
ENTRY_POINTS = 15


class Cudart(ProbedTest):
    def owners(self, text):
        error, *lines = text.splitlines()
        self.assertIn(error, REFUSED)
        self.assertEqual(len(lines), ENTRY_POINTS)
        return {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in lines}

    def check(self, program, **changes):
        self.assertTrue(program.exists(), f"{program} is not built: run ./setup.sh test, then cmake --preset release")
        simnode = BUILD / "lib/hostprobe/simnode"
        plain_path = ":".join(filter(None, (str(simnode), changes.get("LD_LIBRARY_PATH"))))
        plain, _ = self.run_program(program, SIMNODE_GPUS="1", LD_LIBRARY_PATH=plain_path)
        self.assertEqual(set(self.owners(plain).values()), {"driver"})
        probed_output, said = self.record(program, options=("--simgpu", "1"), **changes)
        self.assertEqual(set(self.owners(probed_output).values()), {"hostprobe"}, probed_output)
        self.assertEqual(said.count("NVIDIA's CUDA runtime refuses the simulated GPU"), 1, said)

    def test_shared(self):
        self.check(BUILD / "tests/python/cudart_shared")

    def test_static(self):
        self.check(BUILD / "tests/python/cudart_static")

    def test_the_one_that_pytorch_brings(self):
        libraries = path_of("TORCH_PYTHON").parents[1].glob("lib/python*/site-packages/nvidia/cu13/lib/libcudart.so.13")
        self.check(BUILD / "tests/python/cudart_shared", LD_LIBRARY_PATH=str(next(libraries).parent))


if __name__ == "__main__":
    probed.main()
