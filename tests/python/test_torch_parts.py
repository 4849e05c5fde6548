#!/usr/bin/env python3
"""hostprobe.torch in real training programs: what it counts, and that it leaves PyTorch as it was."""

import json
import sys
from collections import Counter

import probed
from probed import SOURCE, ProbedTest, path_of

WAITS = "waits until {} is imported"

TRAINING = """
import hostprobe.torch, json, os, sys
assert "torch" not in sys.modules
before = hostprobe.torch.install()
import torch
from torch.utils.data import DataLoader, Dataset
assert hostprobe.torch.install() == hostprobe.torch.report()  # a second time: nothing new

class Samples(Dataset):
    def __len__(self): return 24
    def __getitem__(self, i): return torch.full((4,), float(i)), i % 3

class Broken(Samples):
    def __getitem__(self, i): raise KeyError(i)

model = torch.nn.Linear(4, 3)
first, second = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.AdamW(model.parameters())
inline, forked = DataLoader(Samples(), 8), DataLoader(Samples(), 4, num_workers=2)
stepped = 0
for loader in (inline, forked, forked):
    for i, (x, y) in enumerate(loader):
        torch.nn.functional.cross_entropy(model(x), y).backward()
        if i % 2 == 0:  # gradients of two batches
            first.step(), second.step(), first.zero_grad()
            stepped += 1
try: next(iter(DataLoader(Broken(), 8)))
except KeyError: print("KeyError", file=sys.stderr)
if os.fork() == 0:
    for _ in range(3): first.step()
    os._exit(0)
os.wait()
print(json.dumps({"before": before, "after": hostprobe.torch.report(), "stepped": stepped}))
"""

OPTIMIZERS = """
import torch, hostprobe.torch
hostprobe.torch.install(["optimizer", "grad_scaler"])
def made():
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    return torch.optim.SGD([weight], lr=0.1)
a, b = made(), made()
for _ in range(10):  # 10 rounds
    a.step(), b.step(), b.step()
for _ in range(6): b.step()  # a rests: these, with the last two above, still wait for it,
for _ in range(4): b.step()  # these do not
for _ in range(3): a.step(), b.step()  # 3
scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
for i in range(6):  # 6, two of which leave the optimizer's step out
    weight = b.param_groups[0]["params"][0]
    weight.grad = torch.full((2,), float("inf") if i % 3 == 1 else 1.0)
    scaler.scale(torch.ones(1))
    scaler.step(b)
    scaler.update()
del a, b, weight
last = made()
for _ in range(2): last.step()
"""

SYNCS = """
import torch, hostprobe.torch
hostprobe.torch.install(["sync"])
class OnGpu(torch.Tensor):  # the judgement is by is_cuda; this needs no GPU
    __torch_function__ = torch._C._disabled_torch_function_impl
    is_cuda = True
class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        assert "is_cuda" not in str(function), function
        return super().__torch_function__(function, types, args, kwargs or {})
here, there, asked = torch.ones(1), torch.ones(1).as_subclass(OnGpu), torch.ones(1).as_subclass(Asked)
assert (here.item(), there.item(), asked.item(), torch.nn.Parameter(here).tolist()) == (1, 1, 1, [1])
assert there.cpu().tolist() == [1] and there.numpy().tolist() == [1]
try: torch.ones(2).as_subclass(OnGpu).item()
except RuntimeError as error: print("a Tensor with 2 elements" in str(error))
for call in (torch.cuda.synchronize, lambda: torch.cuda.synchronize("cuda:9")):
    try: call()
    except Exception as error: print(type(error).__name__)
torch.nn.utils.get_total_norm([there])  # nothing of this one; what it does inside is told by this line
many = "\\n".join("there.item()" for _ in range(400))
exec(compile(many, "many.py", "exec"))
"""

PINS = """
import threading, torch, hostprobe.torch
hostprobe.torch.install(["pin_memory"])
from torch.utils.data._utils import pin_memory
class Batch:
    def pin_memory(self): return "pinned"
def copies():
    assert pin_memory.pin_memory([Batch(), (Batch(), {"deep": Batch()}), "text"]) == ["pinned", ("pinned", {"deep": "pinned"}), "text"]
thread = threading.Thread(target=lambda: [copies() for _ in range(5)])
thread.start(); thread.join()
"""

COMPILES = """
import torch, hostprobe.torch
assert hostprobe.torch.install(["compile", "sync", "optimizer"])["compile"] is not True
import torch._dynamo as dynamo
assert hostprobe.torch.report()["compile"] is True
begun = []
dynamo.callback.on_compile_start(begun.append)
dynamo.config.capture_scalar_outputs = True
whole = torch.compile(lambda x: x.sin() + x.sum().item(), backend="eager", fullgraph=True)  # through our Tensor.item
weight = torch.nn.Parameter(torch.ones(2))
weight.grad = torch.ones(2)
optimizer = torch.optim.SGD([weight], lr=0.1)
step = torch.compile(lambda: optimizer.step(), backend="eager")
for size in (2, 3, 2):
    whole(torch.ones(size)), step(), step()
torch.compiler.reset()  # forgets callbacks
dynamo.callback.on_compile_start(begun.append)
whole(torch.ones(2))
print(len(begun))
"""

RESTORED = """
import torch, torch._dynamo, torch.utils.data.dataloader as loader, torch.optim.optimizer as optimizer
import torch.utils.data._utils.pin_memory as pin, hostprobe.torch, sys
handler = torch._dynamo.callback.callback_handler
owners = [loader.DataLoader, loader._BaseDataLoaderIter, loader._MultiProcessingDataLoaderIter, pin, torch.amp.GradScaler,
          torch.Tensor, torch.cuda, torch.cuda.Stream, torch.cuda.Event, type(handler)]
def seen():
    return ([dict(vars(owner)) for owner in owners], dict(optimizer._global_optimizer_post_hooks),
            list(handler.start_callbacks), list(handler.end_callbacks), list(sys.meta_path))
def same(a, b):
    return all(x.keys() == y.keys() and all(x[k] is y[k] for k in x) for x, y in zip(a[0], b[0])) and a[1:] == b[1:]
before = seen()
for _ in range(2):
    assert set(hostprobe.torch.install().values()) == {True}, hostprobe.torch.report()
    assert not same(before, seen())
    assert torch.Tensor.item.__name__ == "item" and torch.Tensor.item.__doc__
    hostprobe.torch.uninstall()
    assert same(before, seen())
    hostprobe.torch.uninstall()
assert hostprobe.torch.report() == {}
# Somebody else's function behind ours stays, and calls through.
hostprobe.torch.install(["sync"])
ours = torch.cuda.synchronize
def theirs(*given): return ours(*given)
torch.cuda.synchronize = theirs
hostprobe.torch.uninstall()
assert torch.cuda.synchronize is theirs
try: torch.cuda.synchronize()
except Exception as error: print(type(error).__name__)
"""


class TorchParts(ProbedTest):
    def setUp(self):
        super().setUp()
        self.path = {"PYTHONPATH": str(probed.BUILD / "lib/hostprobe/python"), "OMP_NUM_THREADS": "1"}

    def trained(self, program):
        return self.record(path_of("TORCH_PYTHON"), "-W", "ignore", "-c", program, **self.path)

    def calls(self, function):
        return [call for call in self.dump() if call.get("function") == function]

    def regions(self):
        return {region["name"]: region["count"] for process in self.report()["processes"] for region in process.get("regions", [])}

    def steps_of(self):
        return Counter(call["pid"] for call in self.calls("hostprobe_step"))

    def test_batches_queues_and_steps(self):
        out, err = self.trained(TRAINING)
        said = json.loads(out)
        self.assertEqual(set(said["before"].values()),
                         {WAITS.format(module) for module in
                          ("torch", "torch.utils.data.dataloader", "torch.utils.data._utils.pin_memory",
                           "torch.optim.optimizer", "torch.amp.grad_scaler", "torch._dynamo.callback")})
        said["after"].pop("compile")  # an optimizer may import what it waits for
        self.assertEqual(set(said["after"].values()), {True})
        self.assertIn("KeyError", err)
        self.assertEqual(self.regions(), {"dataloader.start Samples#0": 1, "dataloader.fetch Samples#0": 3,
                                          "dataloader.end Samples#0": 1, "dataloader.start Samples#1": 2,
                                          "dataloader.fetch Samples#1": 12, "dataloader.end Samples#1": 2,
                                          "dataloader.start Broken#2": 1})
        marks = Counter(call["args"]["name"] for call in self.calls("hostprobe_mark"))
        self.assertEqual(marks, {"dataloader.ready Samples#1": 14, "dataloader.outstanding Samples#1": 14})
        depths = {call["args"]["value"] for call in self.calls("hostprobe_mark")}
        self.assertLessEqual(depths, {0.0, 1.0, 2.0, 3.0, 4.0})  # two workers, two batches ahead each
        self.assertEqual(said["stepped"], 8)
        # The first of a thread only begins one; a forked child begins again.
        self.assertEqual(sorted(self.steps_of().values()), [2, 7])

    def test_one_of_several_optimizers_marks(self):
        self.trained(OPTIMIZERS)
        self.assertEqual(sum(self.steps_of().values()), 10 + 4 + 3 + 6 + 2 - 1)

    def test_synchronising_calls_by_line(self):
        out, _ = self.trained(SYNCS)
        self.assertEqual(out.split()[0], "True")
        self.assertEqual(len(out.split()), 3)
        regions = self.regions()
        kinds = Counter()
        for name, count in regions.items():
            kinds[name.split()[0]] += count
        self.assertEqual({kind: kinds[kind] for kind in ("sync.cpu", "sync.numpy", "sync.synchronize")},
                         {"sync.cpu": 1, "sync.numpy": 1, "sync.synchronize": 2})
        self.assertEqual(kinds["sync.item"], 402)
        self.assertLessEqual(len(regions), 257)
        self.assertEqual(regions["sync.item many.py:1"], 1)
        self.assertGreater(regions["sync.item"], 140)

    def test_pinning_in_its_thread(self):
        self.trained(PINS)
        copies = [call for call in self.calls("hostprobe_region") if call["args"]["name"] == "pin_memory.copy"]
        self.assertEqual(len(copies), 5)
        self.assertNotIn(copies[0]["pid"], {call["tid"] for call in copies})

    def test_compilations(self):
        out, _ = self.trained(COMPILES)
        self.assertGreaterEqual(int(out), 3)
        self.assertEqual(self.regions(), {"jit_compile": int(out)})
        self.assertEqual(sum(self.steps_of().values()), 6 - 1)

    def test_everything_is_as_it_was(self):
        out, _ = self.trained(RESTORED)
        self.assertIn(out.strip(), ("RuntimeError", "AssertionError"))
        self.assertEqual(self.regions(), {})

    def test_example(self):
        command = (path_of("TORCH_PYTHON").parent / "torchrun", "--nproc-per-node=2", SOURCE / "examples/torchrun_hooks.py",
                   "--steps", "20")
        plain, said = self.run_program(*command, **self.path)
        self.assertEqual(set(json.JSONDecoder().raw_decode(said, said.index("{"))[0].values()), {"libhostprobe.so is not preloaded"})
        self.assertEqual(self.record(*command, **self.path)[0], plain)
        ranks = [process for process in self.report()["processes"] if process.get("regions")]
        self.assertEqual([process["rank"] for process in ranks], [0, 1])
        for process in ranks:
            self.assertEqual({region["name"]: region["count"] for region in process["regions"]},
                             {"dataloader.start TensorDataset#0": 1, "dataloader.fetch TensorDataset#0": 20,
                              "dataloader.end TensorDataset#0": 1})
        self.assertEqual(sorted(self.steps_of().values()), [19, 19])

    def test_nothing_without_the_probe(self):
        program = ("import hostprobe.torch, sys\n"
                   "before = list(sys.meta_path)\n"
                   "print(set(hostprobe.torch.install().values()))\n"
                   "assert sys.meta_path == before\n"
                   "hostprobe.torch.uninstall()\n")
        self.assertEqual(self.run_program(sys.executable, "-c", program, **self.path)[0],
                         "{'libhostprobe.so is not preloaded'}\n")


class OddTorch(ProbedTest):
    """What calls itself torch and is none, in a Python without PyTorch."""

    def record_with(self, files, program):
        for name, text in files.items():
            path = self.folder / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        path = f"{probed.BUILD / 'lib/hostprobe/python'}:{self.folder / 'site'}"
        return self.record(path_of("SYSTEM_PYTHON"), "-c", program, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")[0]

    def test_none(self):
        out = self.record_with({}, "import hostprobe.torch, sys\n"
                                   "before = list(sys.meta_path)\n"
                                   "print(hostprobe.torch.install(['sync', 'sink', 7]))\n"
                                   "try: import torch\n"
                                   "except ModuleNotFoundError as error: print(error.name)\n"
                                   "sys.modules['torch'] = None\n"
                                   "try: import torch\n"
                                   "except ImportError: print('blocked', hostprobe.torch.report()['sync'])\n"
                                   "hostprobe.torch.uninstall()\n"
                                   "print(sys.meta_path == before)\n")
        reason = "'there is no such part; there are dataloader, queue, pin_memory, optimizer, grad_scaler, sync, compile'"
        waits = WAITS.format("torch")
        self.assertEqual(out, f"{{'sync': '{waits}', 'sink': {reason}, '7': {reason}}}\ntorch\nblocked {waits}\nTrue\n")

    def test_one_that_lacks_everything(self):
        files = {f"torch/{module}.py": "" for module in
                 ("utils/__init__", "utils/data/__init__", "utils/data/dataloader", "utils/data/_utils/__init__",
                  "utils/data/_utils/pin_memory", "optim/__init__", "optim/optimizer", "amp/__init__", "amp/grad_scaler",
                  "_dynamo/__init__", "_dynamo/callback")}
        files["torch/__init__.py"] = ("import torch.utils.data.dataloader, torch.utils.data._utils.pin_memory\n"
                                      "import torch.optim.optimizer, torch.amp.grad_scaler, torch._dynamo.callback\n"
                                      "class Tensor:\n"
                                      "    def item(self): return 3\n")
        out = self.record_with(files, "import hostprobe.torch, json, torch\n"
                                      "print(json.dumps(hostprobe.torch.install()))\n"
                                      "print(torch.Tensor().item(), torch.Tensor.item.__qualname__)\n")
        said, after = out.splitlines()
        self.assertEqual(after, "3 Tensor.item")
        self.assertEqual(set(map(type, json.loads(said).values())), {str})
        for part, lacks in json.loads(said).items():
            self.assertRegex(lacks, r"^AttributeError: .{5,}$", part)

    def test_one_whose_import_fails_first(self):
        files = {"torch/__init__.py": "import os\n"
                                      "if os.environ.pop('FIRST', None): raise ValueError('not yet')\n"
                                      "__version__ = '0'\n"}
        out = self.record_with(files, "import os; os.environ['FIRST'] = '1'\n"
                                      "import hostprobe.torch\n"
                                      "hostprobe.torch.install(['sync'])\n"
                                      "try: import torch\n"
                                      "except ValueError as error: print(error, hostprobe.torch.report())\n"
                                      "import torch\n"
                                      "print(torch.__version__, type(torch.__loader__).__name__, vars(torch.__loader__).keys(),\n"
                                      "      hostprobe.torch.report())\n")
        failed, then = out.splitlines()
        self.assertEqual(failed, f"not yet {{'sync': '{WAITS.format('torch')}'}}")
        self.assertRegex(then, r"^0 SourceFileLoader dict_keys\(\['name', 'path'\]\) .*no attribute 'Tensor'")


if __name__ == "__main__":
    probed.main()
