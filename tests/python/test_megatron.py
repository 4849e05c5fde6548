#!/usr/bin/env python3
"""hostprobe.megatron with Megatron's core on the CPU, as far as that goes there, and with modules that only call themselves so.

Megatron's three passes stop at their first tensor on "cuda"; its forward_step, backward_step and sends run. What is made of a
pass (phases, iterations, the data iterator) is tested with a schedule of our own in Megatron's place.
"""

import json
import sys
from collections import Counter

import probed
from probed import SOURCE, ProbedTest, path_of

REAL = """
import hostprobe.megatron, gc, json, warnings
warnings.simplefilter("ignore")
hostprobe.megatron.install()
from megatron.core.pipeline_parallel import get_forward_backward_func, schedules
import torch, torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.enums import ModelType
from megatron.core.model_parallel_config import ModelParallelConfig
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
parallel_state.initialize_model_parallel()
class Model(torch.nn.Linear):
    config, model_type = ModelParallelConfig(pipeline_dtype=torch.float32), ModelType.encoder_or_decoder
    def set_input_tensor(self, tensors): pass
model = Model(4, 1)
def forward(batches, model):
    return model(next(batches)), lambda output: (output.mean(), {"loss": output.mean().detach()})
def run():
    return get_forward_backward_func()(forward_step_func=forward, data_iterator=iter([torch.ones(2, 4)] * 4), model=model,
                                       num_microbatches=4, seq_length=1, micro_batch_size=2, forward_only=False)
def error_of(call):
    try: call()
    except Exception as error: return type(error).__name__, str(error)
said = {"thresholds": gc.get_threshold(), "stopped": error_of(run)}
batches, losses = iter([torch.ones(2, 4)] * 4), []
for number in range(4):
    output, _ = schedules.forward_step(forward, batches, model, 4, None, losses, model.config, 1, current_microbatch=number)
    schedules.backward_step(None, output, None, model.model_type, model.config)
said["losses"], said["report"] = len(losses), hostprobe.megatron.report()
hostprobe.megatron.uninstall()
said["stopped_without"], said["thresholds_after"] = error_of(run), gc.get_threshold()
print(json.dumps(said))
"""

SENDS = """
import hostprobe.megatron, os, sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist
from megatron.core.model_parallel_config import ModelParallelConfig
from megatron.core.pipeline_parallel.p2p_communication import P2PCommunicator
assert hostprobe.megatron.install(["p2p"]) == {"p2p": True}
dist.init_process_group("gloo")
config = ModelParallelConfig(pipeline_dtype=torch.float32, batch_p2p_comm=False, batch_p2p_sync=False)
stage = P2PCommunicator(dist.group.WORLD, config)
got = torch.zeros(3)
for i in range(5):  # Megatron receives into memory of a GPU only, so the other side is PyTorch's
    if dist.get_rank() == 0:
        stage.send_forward(torch.full((3,), float(i)), False)
        dist.recv(got, 1)
    else:
        dist.recv(got, 0)
        assert got.tolist() == [i] * 3
        stage.send_backward(torch.full((3,), float(-i)), False)
assert abs(got[0].item()) == 4
dist.destroy_process_group()
"""

RESTORED = """
import warnings
warnings.simplefilter("ignore")
import gc, sys, hostprobe.megatron
from megatron.core.pipeline_parallel import schedules, p2p_communication
owners = [schedules, p2p_communication.P2PCommunicator]
seen = lambda: ([dict(vars(owner)) for owner in owners], gc.get_threshold(), list(sys.meta_path))
same = lambda a, b: all(x.keys() == y.keys() and all(x[k] is y[k] for k in x) for x, y in zip(a[0], b[0])) and a[1:] == b[1:]
before = seen()
for _ in range(2):
    said = hostprobe.megatron.install()
    assert said == hostprobe.megatron.install() and not same(before, seen())
    hostprobe.megatron.uninstall()
    assert same(before, seen())
hostprobe.megatron.install(gc=(1000, 20, 30))
gc.set_threshold(7, 7, 7)  # the program's own choice
hostprobe.megatron.uninstall()
assert gc.get_threshold() == (7, 7, 7)
print({part: on for part, on in said.items() if on is not True})
"""

# One forward, one backward, as Megatron takes turns in a pipeline; and the names by which it says where it is.
SCHEDULES = '''
def forward_step(function, data_iterator, model, *rest, current_microbatch=None): return function(data_iterator, model)
def backward_step(*given): pass
def nvtx_range_push(msg=None, suffix=None): pass
def nvtx_range_pop(msg=None, suffix=None): pass
def run(named, warmup):
    total, arguments = named["num_microbatches"], (named["forward_step_func"], named["data_iterator"], None)
    for i in range(warmup): forward_step(*arguments, current_microbatch=i)
    for i in range(warmup, total):
        forward_step(*arguments, current_microbatch=i)
        if not named["forward_only"]: backward_step()
    for i in range(0 if named["forward_only"] else warmup): backward_step()
    return list(named["data_iterator"])
def forward_backward_no_pipelining(**named): return run(named, 0)
def forward_backward_pipelining_without_interleaving(**named): return run(named, min(2, named["num_microbatches"]))
def forward_backward_pipelining_with_interleaving(**named):
    nvtx_range_push(suffix="warmup"); nvtx_range_pop(suffix="warmup")
    nvtx_range_push(suffix="steady"); nvtx_range_pop(suffix="steady")
    nvtx_range_push(suffix="cooldown"); nvtx_range_pop(suffix="cooldown")
    nvtx_range_push(suffix="misc"); nvtx_range_pop(suffix="misc")
'''

PASSES = """
import copy, hostprobe.megatron
hostprobe.megatron.install()
import megatron.core.parallel_state
from megatron.core.pipeline_parallel import schedules
class Batches:  # an iterator with a will of its own
    state, left = "kept", 0
    def __iter__(self): return self
    def __next__(self):
        self.left -= 1
        if self.left < 0: raise StopIteration
        return self.left
batches = Batches()
def forward(iterator, model):
    assert iterator.state == "kept"
    iterator.state = "kept"
    assert "state" in vars(batches) and copy.copy(iterator).left == batches.left
    return next(iterator)
def run(function, total, forward_only=False):
    batches.left = total
    assert function(forward_step_func=forward, data_iterator=batches, num_microbatches=total, forward_only=forward_only) == []
pipelined = schedules.forward_backward_pipelining_without_interleaving
run(pipelined, 5)  # 2 forwards, 3 of both, 2 backwards
run(pipelined, 1)  # 1 forward, 1 backward
run(schedules.forward_backward_no_pipelining, 4)
run(schedules.forward_backward_no_pipelining, 4, True)  # an evaluation ends the step
run(schedules.forward_backward_no_pipelining, 4)
schedules.forward_backward_pipelining_with_interleaving()
run(schedules.forward_backward_no_pipelining, 0)
class Breaks:
    def __next__(self): raise OSError("disk")
try: pipelined(forward_step_func=forward, data_iterator=[Breaks()], num_microbatches=2, forward_only=False)
except AttributeError: pass
try: pipelined()
except KeyError as error: print(error, hostprobe.megatron.report()["phases"])
"""


class Megatron(ProbedTest):
    def setUp(self):
        super().setUp()
        self.package = probed.BUILD / "lib/hostprobe/python"
        self.path = {"PYTHONPATH": f"{self.package}:{path_of('MEGATRON')}", "OMP_NUM_THREADS": "1"}

    def trained(self, *words):
        return self.record(path_of("TORCH_PYTHON"), "-W", "ignore", *words, **self.path)

    def beside(self, files, program):
        """A program in a Python without PyTorch, with modules made of these texts."""
        for name, text in files.items():
            path = self.folder / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        changes = {"PYTHONPATH": f"{self.package}:{self.folder / 'site'}", "PYTHONDONTWRITEBYTECODE": "1"}
        return self.record(path_of("SYSTEM_PYTHON"), "-c", program, **changes)[0]

    def regions(self, process=None):
        total = Counter()
        for one in self.report()["processes"]:
            if process is None or one.get("rank") == process:
                total.update({region["name"]: region["count"] for region in one.get("regions", [])})
        return total

    def numbers(self, function, what):
        return [call["args"][what] for call in self.dump() if call.get("function") == function]

    def test_what_runs_without_a_gpu(self):
        said = json.loads(self.trained("-c", REAL)[0])
        self.assertEqual(said["thresholds"], [50000, 50, 1000])
        self.assertNotEqual(said["thresholds_after"], said["thresholds"])
        self.assertEqual(said["report"].pop("train_step"), "waits until megatron.training.training is imported")
        self.assertEqual(said["report"], dict.fromkeys(("iteration", "microbatch", "phases", "data", "p2p", "gc"), True))
        self.assertEqual(said["losses"], 4)
        self.assertEqual(said["stopped"], said["stopped_without"])  # by the lack of a GPU, as without us
        regions = self.regions()
        self.assertEqual((regions["megatron.iteration"], regions["megatron.forward"], regions["megatron.backward"]), (1, 4, 4))
        self.assertEqual(self.numbers("hostprobe_mark", "value"), [0.0, 1.0, 2.0, 3.0])

    def test_sends_between_stages(self):
        program = self.folder / "sends.py"
        program.write_text(SENDS)
        self.record(path_of("TORCH_PYTHON").parent / "torchrun", "--nproc-per-node=2", program, **self.path)
        self.assertEqual(self.regions(0), {"megatron.p2p.send_forward": 5})
        self.assertEqual(self.regions(1), {"megatron.p2p.send_backward": 5})

    def test_everything_is_as_it_was(self):
        out, _ = self.trained("-c", RESTORED)
        self.assertEqual(out, "{'train_step': 'waits until megatron.training.training is imported'}\n")
        self.assertEqual(self.regions(), {})

    def test_example(self):
        _, said = self.record(path_of("TORCH_PYTHON").parent / "torchrun", "--nproc-per-node=1",
                              SOURCE / "examples/megatron_hooks.py", "--iterations", "6", "--microbatches", "3", **self.path)
        self.assertIn('"microbatch": true', said)
        self.assertEqual(self.regions(0), {"megatron.forward": 18, "megatron.backward": 18,
                                           "dataloader.start TensorDataset#0": 1, "dataloader.fetch TensorDataset#0": 18})
        self.assertEqual(self.report()["steps"]["count"], 5)  # the optimizer's: no pass ran

    def test_examples_show_help(self):
        for name in ("megatron_hooks.py", "torchrun_hooks.py"):
            text, _ = self.run_program(path_of("TORCH_PYTHON"), "-W", "ignore", SOURCE / "examples" / name, "--help", **self.path)
            self.assertIn("usage:", text)
            self.assertIn("examples:", text)

    FAKE = {"megatron/core/pipeline_parallel/schedules.py": SCHEDULES, "megatron/core/pipeline_parallel/__init__.py": "",
            "megatron/core/__init__.py": "", "megatron/__init__.py": "",
            "megatron/core/parallel_state.py": "def get_pipeline_model_parallel_rank(): return 1\n"
                                               "def get_pipeline_model_parallel_world_size(): return 4\n"}

    def test_phases_iterations_and_data_of_a_pass(self):
        out = self.beside(self.FAKE, PASSES)
        self.assertEqual(out, "'num_microbatches' KeyError: 'num_microbatches'\n")
        self.assertEqual(self.regions(), {
            "megatron.iteration": 8, "megatron.evaluation": 1, "megatron.data": 5 + 1 + 4 + 4 + 4, "megatron.backward": 5 + 1 + 4 + 4,
            "megatron.forward": 5 + 1 + 4 + 4 + 4 + 1, "megatron.warmup": 4, "megatron.steady": 2, "megatron.cooldown": 3})
        # Begun by passes 1, 2, 3, ended by 2, 3, the evaluation; by 5 to 9, ended by the next.
        self.assertEqual(len(self.numbers("hostprobe_step", "number")), 3 + 4)
        self.assertEqual(self.numbers("hostprobe_mark", "value"),
                         [0.0, 1.0, 2.0, 3.0, 4.0, 0.0] + 3 * [0.0, 1.0, 2.0, 3.0] + [0.0])

    def test_the_step_of_megatron_lm(self):
        training = ("from megatron.core.pipeline_parallel import schedules\n"
                    "def train_step(iteration):\n"
                    "    schedules.forward_backward_no_pipelining(forward_step_func=lambda *given: 0, data_iterator=[],\n"
                    "                                             num_microbatches=2, forward_only=False)\n"
                    "    if iteration == 3: raise ArithmeticError\n"
                    "    return iteration\n")
        out = self.beside({**self.FAKE, "megatron/training/training.py": training, "megatron/training/__init__.py": ""},
                          "import hostprobe.megatron\n"
                          "hostprobe.megatron.install()\n"
                          "from megatron.training import training\n"
                          "for i in range(6):\n"
                          "    try: print(training.train_step(iteration=i), end=' ')\n"
                          "    except ArithmeticError: print('error', end=' ')\n"
                          "print(hostprobe.megatron.report()['train_step'])\n")
        self.assertEqual(out, "0 1 2 error 4 5 True\n")
        self.assertEqual(len(self.numbers("hostprobe_step", "number")), 5 - 1)
        self.assertEqual(self.regions()["megatron.iteration"], 6)

    def test_another_megatron(self):
        files = {**self.FAKE, "megatron/core/pipeline_parallel/schedules.py": "forward_step = None\n",
                 "megatron/core/pipeline_parallel/p2p_communication.py": "def recv_forward(): return 4\n"}
        out = self.beside(files, "import hostprobe.megatron, json\n"
                                 "import megatron.core.pipeline_parallel.p2p_communication as p2p\n"
                                 "from megatron.core.pipeline_parallel import schedules\n"
                                 "said = hostprobe.megatron.install(gc='sometimes')\n"
                                 "print(json.dumps([p2p.recv_forward(), said]))\n")
        received, said = json.loads(out)
        self.assertEqual((received, said.pop("p2p")), (4, True))
        self.assertEqual(said.pop("gc"), "gc='sometimes' is neither \"thresholds\" nor three whole numbers nor None")
        self.assertEqual(said.pop("train_step"), "waits until megatron.training.training is imported")
        self.assertEqual({part: lacks.split(":")[0] for part, lacks in said.items()},
                         dict.fromkeys(("iteration", "microbatch", "phases", "data"), "AttributeError"))
        self.assertEqual(self.regions(), {"megatron.p2p.recv_forward": 1})

    def test_nothing_without_the_probe(self):
        program = ("import hostprobe.megatron, gc\n"
                   "before = gc.get_threshold()\n"
                   "print(set(hostprobe.megatron.install().values()), gc.get_threshold() == before)\n"
                   "hostprobe.megatron.uninstall()\n")
        self.assertEqual(self.run_program(sys.executable, "-c", program, **self.path)[0],
                         "{'libhostprobe.so is not preloaded'} True\n")


if __name__ == "__main__":
    probed.main()
