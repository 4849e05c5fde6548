"""Draws what a training program does when nothing is wrong: its ranks, layers, kernels, waits, threads, and everybody's names."""

import dataclasses
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
FUNCTIONS = tuple(re.findall(r"^GENERATOR_FUNCTION\((\w+)\)", (HERE / "function_names.def").read_text(), flags=re.M))
# Some say what their thread does, some what it does not do, most say nothing.
THREADS = ("alder", "basalt", "cobalt", "delta-7", "ember", "fjord", "garnet", "heron", "io-ring", "juniper", "kestrel", "lantern",
           "merlin", "nimbus", "osprey", "pool-2", "quartz", "raven", "sorrel", "teal", "umbra", "vesper", "worker-1", "xenon", "zephyr",
           "loader", "prefetch", "autograd", "pin_memory", "metrics", "NCCL watchdog", "pt_data_worker", "optimizer", "checkpoint", "main")
KERNELS = ("gemm_128", "softmax_v2", "norm_fwd", "gelu_tanh", "rope", "attn_core", "embed", "copy_kernel", "reduce_k", "adam_multi",
           "fused_bias", "scan_block", "conv_s2", "dropout", "cast_bf16", "transpose")
ROLES = ("take", "product", "lock", "wait", "read", "save", "partner")
LAUNCH_US, BEHIND_US, COLLECTIVE_CALL_US = 2.6, 0.8, 8  # what one costs the host, a pause between kernels, as the simulated node models it


@dataclasses.dataclass(frozen=True)
class Structure:
    """Keys and values of the plan, and what they come to by arithmetic alone."""

    keys: dict
    step_us: float  # of GPU time, on the longest way through all ranks
    names: dict  # role → thread or function
    functions: tuple  # that nobody has yet

    def __getitem__(self, key):
        return self.keys[key]

    @property
    def ranks(self):
        return self.keys["ranks"]

    @property
    def passes(self):
        """How often a rank goes through a layer in one step, a backward pass counted once."""
        return self.keys["layers"] * self.keys["micro_batches"] * (1 if self.keys["structure"] == "decode" else 2)

    @property
    def launched(self):
        """Kernels of a rank and step."""
        times = {"decode": 2 if self.keys["vary"] else 1}.get(self.keys["structure"], 3)
        return len(self.keys["layer_kernels"]) * self.keys["layers"] * self.keys["micro_batches"] * times + self.keys["optimizer_kernels"]

    @property
    def collectives(self):
        """Of a rank and step."""
        layers, batches = self.keys["layers"], self.keys["micro_batches"]
        if self.ranks == 1:
            return 0
        return {"data": self.keys["buckets"], "sharded": 3 * layers * batches, "tensor": 2 * layers * batches, "decode": layers,
                "pipeline": 2 * batches}[self.keys["structure"]]

    @property
    def host_us(self):
        """What the host needs to launch a step."""
        calls = self.launched / (len(self.keys["layer_kernels"]) if self.keys["graph"] else 1)
        return calls * LAUNCH_US + self.collectives * COLLECTIVE_CALL_US + 60

    @property
    def ahead(self):
        """Steps that the host may be ahead of the GPU."""
        return 0 if self.keys["loss_every"] == 1 else self.keys["run_ahead"]

    def with_keys(self, step_us=None, **changes):
        return dataclasses.replace(self, keys={**self.keys, **changes}, step_us=step_us or self.step_us)


def log_uniform(rng, low, high):
    return low * (high / low) ** rng.random()


def draw_sizes(rng, kind):
    """Layers, micro-batches, kernels of a layer, and how long a step takes the GPU."""
    if kind == "decode":
        return rng.randint(2, 6), 1, rng.randint(3, 8), log_uniform(rng, 1500, 4000)
    batches = rng.randint(2, 5) if kind == "pipeline" else rng.choice((1, 1, 2, 3))
    return rng.randint(2, 6), batches, rng.randint(3, 8), log_uniform(rng, 4000, 12000)


def draw_kernels(rng, keys, step_us, bubble):
    """Kernels whose durations add up to the step."""
    names = rng.sample(KERNELS, rng.randint(3, 6))
    weights = [log_uniform(rng, 1, 4) for _ in names]
    of_layer = [rng.randrange(len(names) - 1) for _ in range(keys["layer_kernels"])]
    times = (2 if keys["vary"] else 1) if keys["structure"] == "decode" else 3
    repeated = keys["layers"] * keys["micro_batches"] * times * bubble
    total = repeated * sum(weights[kernel] for kernel in of_layer) + keys["optimizer_kernels"] * weights[-1]
    pauses = BEHIND_US * (repeated * len(of_layer) + keys["optimizer_kernels"])
    scale = max(step_us - pauses, step_us / 4) / total
    keys["kernels"] = [(name, round(scale * weight, 1)) for name, weight in zip(names, weights)]
    keys["layer_kernels"] = of_layer


def draw_waits(rng, kind, ranks):
    """When the host waits for the GPU, and how."""
    if kind == "decode":  # the next token needs the one before it
        return {"run_ahead": 0, "loss_every": 1, "sync": rng.choice(("auto", "spin", "block") if ranks == 1 else ("yield", "block"))}
    return {"run_ahead": rng.choice((0, 0, 1, 1, 2, 3)), "loss_every": rng.choice((1, 5, 10, 25, 0)),
            "sync": rng.choice(("auto", "spin", "yield", "block") if ranks == 1 else ("yield", "block"))}


def draw_names(rng):
    functions = rng.sample(FUNCTIONS, len(FUNCTIONS))
    threads = rng.sample(THREADS, 6)
    names = {f"{role}_function": functions.pop() for role in ROLES}
    for role in ("loader", "producer", "holder", "burner", "writer", "partner"):
        names[f"{role}_name"] = threads.pop().replace(" ", "_")
    return names, tuple(functions)


def draw_structure(rng, kinds=None):
    kind = rng.choice(kinds or ("single", "single", "data", "data", "sharded", "pipeline", "tensor", "decode"))
    ranks = {"single": 1, "decode": rng.choice((1, 1, 2))}.get(kind, rng.choice((2,) * 17 + (3,) * 2 + (4,)))
    layers, batches, of_layer, step_us = draw_sizes(rng, kind)
    loader = rng.choice(("none", "threads", "threads", "processes"))
    keys = {
        "structure": kind, "ranks": ranks, "layers": layers, "micro_batches": batches, "layer_kernels": of_layer,
        "optimizer_kernels": rng.choice((1, 2, 4, 8)), "vary": rng.choice((0, 1)) if kind == "decode" else 0,
        "graph": int(rng.random() < (0.6 if kind == "decode" else 0.25)), "overlap": 1, "one_f_one_b": rng.choice((0, 1)),
        "message_kb": rng.choice((16, 32, 64, 128)), "gradient_kb": rng.choice((256, 512, 1024)), "buckets": rng.choice((1, 2, 4)),
        "parameter_kb": rng.choice((32, 64, 128)), **draw_waits(rng, kind, ranks),
        "eval_every": rng.choice((0, 0, 20, 40)) if kind != "decode" else 0, "checkpoint_every": rng.choice((0, 0, 25, 50)),
        "checkpoint_kb": rng.choice((64, 256, 512)), "marks": int(rng.random() < 0.3), "loader": loader,
        "loaders": rng.choice((1, 2)) if loader != "none" else 1, "queue": rng.choice((2, 4, 8)), "batch_kb": rng.choice((1, 4, 16, 32)),
        "copy_stream": rng.choice((0, 1)), "hand_over": rng.choice(("condition", "semaphore", "pipe")),
        "producer_lead": rng.choice((0, 0, 1, 3)), "lock": rng.choice(("mutex", "mutex", "read_write")),
    }
    names, functions = draw_names(rng)
    bubble = (batches + ranks - 1) / batches if kind == "pipeline" else 1
    draw_kernels(rng, keys, step_us, bubble)
    return Structure({**keys, **names}, step_us, names, functions)
