#!/usr/bin/env python3
"""PyTorch DDP under hostprobe: the same training, and the whole answer about it."""

import probed
from probed import PRELOAD, SOURCE, ProbedTest, path_of

EXAMPLE = SOURCE / "examples/train_ddp.py"
OPTIONS = ("--steps", "60", "--slow-loader-ms", "2", "--checkpoint-every", "10")


def torchrun():
    return path_of("TORCH_PYTHON").parent / "torchrun", "--nproc-per-node=2", EXAMPLE, *OPTIONS


class Ddp(ProbedTest):
    plain_output = None  # the same for all tests, or nothing here means anything

    def plain(self):
        if Ddp.plain_output is None:
            Ddp.plain_output, _ = self.run_program(*torchrun())
            self.assertRegex(Ddp.plain_output, r"^loss -?0x1\.[0-9a-f]+p[+-]\d+\n$")
        return Ddp.plain_output

    def test_loss_is_bit_identical_and_the_report_is_whole(self):
        plain = self.plain()
        probed_output, _ = self.record(*torchrun())
        self.assertEqual(probed_output, plain)
        report = self.report()
        self.assertEqual(report["schema"], 1)
        self.assertEqual(report["run"]["ranks"], 2)
        self.assertTrue(1 <= len(report["headline"]) <= 3, report["headline"])
        for process in report["processes"]:
            self.check_process(process)
        for rank in (0, 1):
            self.check_rank([p for p in report["processes"] if p.get("rank") == rank])
        self.check_text(self.run_program(probed.COMMAND, "report", self.run_folder, "--all")[0])
        self.check_dump(self.dump())

    def check_process(self, process):
        self.assertEqual(process["lost"], 0, process["command"])
        self.assertGreater(process["records"], 0)
        self.assertGreater(process["wall_ms"], 0)
        self.assertGreater(process["cpu_ms"], 0)
        self.assertGreaterEqual(process["own_cost_pct"], 0)
        self.assertEqual(sum(t["records"] for t in process["threads"]), process["records"])
        first = [t["role"] for t in process["threads"] if t["tid"] == process["pid"]]
        self.assertIn(first, (["main"], ["dataloader"]))
        for site in process["waits"]:
            self.assertGreater(site["count"], 0)
            self.assertTrue(site["function"] and site["library"] and site["role"], site)
            self.assertLessEqual(site["p50_us"], site["p99_us"])
            self.assertLessEqual(site["p99_us"], site["max_us"] * 1.05)
            self.assertLessEqual(site["max_us"] / 1000, site["total_ms"] * 1.001)

    def check_rank(self, processes):
        """A rank is the process that trains and its DataLoader workers."""
        trainers = [p for p in processes if any(t["role"] == "gloo" for t in p["threads"])]
        self.assertEqual(len(trainers), 1)
        self.assertEqual(len(processes), 3)
        trainer = trainers[0]
        loader_waits = [s for s in trainer["waits"] if (s["function"], s["role"]) == ("sem_clockwait", "main")]
        self.assertEqual([s["library"] for s in loader_waits], ["python3.11"])
        torch_waits = [s for s in trainer["waits"] if s["function"].startswith("pthread_cond") and s["role"] == "main"]
        self.assertTrue(torch_waits)
        woken = [s for s in trainer["waits"] if s.get("wake") and s["wake"]["count"] > 0]
        self.assertTrue(woken)
        for site in woken:
            self.assertLessEqual(site["wake"]["p50_us"], site["wake"]["p99_us"])
            self.assertLessEqual(site["wake"]["count"], site["count"])
            self.assertTrue(site["wake"]["waker_role"])
        # The main thread is woken by the prefetch thread, a Python thread without a name or role of its own.
        self.assertGreater(loader_waits[0]["wake"]["count"], 0)
        self.assertEqual(loader_waits[0]["wake"]["waker_role"], "other")
        workers = [t for p in processes for t in p["threads"] if t["role"] == "dataloader"]
        self.assertTrue(workers)

    def check_text(self, text):
        for words in ("RANK 0", "RANK 1", "sem_clockwait", "main", "gloo", "lost"):
            self.assertIn(words, text)

    def check_dump(self, lines):
        functions = set()
        for line in lines:
            if "function" in line:
                self.assertLessEqual({"pid", "tid", "role", "function", "begin_ns", "duration_ns", "args"}, set(line))
                functions.add(line["function"])
        self.assertLessEqual({"sem_clockwait", "pthread_create"}, functions)

    def test_preload_alone_is_enough(self):
        plain = self.plain()
        preloaded, _ = self.run_program(*torchrun(), LD_PRELOAD=str(PRELOAD), HOSTPROBE_OUT=str(self.run_folder))
        self.assertEqual(preloaded, plain)
        report = self.report()
        self.assertEqual({p["rank"] for p in report["processes"]} & {0, 1}, {0, 1})

    def test_example_shows_help(self):
        text, _ = self.run_program(path_of("TORCH_PYTHON"), EXAMPLE, "--help")
        self.assertIn("usage:", text)
        self.assertIn("examples:", text)


if __name__ == "__main__":
    probed.main()
