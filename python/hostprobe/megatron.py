"""What Megatron-LM's training does, as regions, marks and steps of hostprobe. In the training script, before it imports Megatron
or after:

    import hostprobe.megatron
    hostprobe.megatron.install()

Parts, each of which can be asked for alone (`install(["iteration"])`):

iteration   the step mark, from the begin of one training pass (forward_backward_func) to the begin of the next. Region
            `megatron.iteration`, `megatron.evaluation` for a pass that is only forward
train_step  the step mark where Megatron-LM itself is used: as its `train_step` returns
microbatch  regions `megatron.forward` and `megatron.backward`; mark `megatron.microbatch`, its number, before the forward
phases      regions `megatron.warmup`, `megatron.steady`, `megatron.cooldown` of a pipelined pass
data        region `megatron.data` while the next micro-batch is taken from the data iterator
p2p         regions `megatron.p2p.recv_forward`, … of sends and receives between pipeline stages
gc          no mark: raises the collector's thresholds, which `uninstall()` puts back

Made for megatron-core 0.16; parts that another version lacks are left out, and report() says so. Nothing is imported that the
program does not import, none of this raises into the program, and where libhostprobe.so is not preloaded nothing is changed.
"""

from __future__ import annotations

import gc as collector
import sys
from typing import Any, Callable, Iterable, Optional, Union

from hostprobe import _steps, mark, region, step
from hostprobe._parts import Part, Parts, Report
from hostprobe._patches import Patches

__all__ = ["install", "report", "uninstall"]

_PASSES = ("forward_backward_no_pipelining", "forward_backward_pipelining_without_interleaving",
           "forward_backward_pipelining_with_interleaving")
_TRANSFERS = ("recv_forward", "recv_backward", "send_forward", "send_backward", "send_forward_recv_backward",
              "send_backward_recv_forward", "send_forward_recv_forward", "send_backward_recv_backward",
              "send_forward_backward_recv_forward_backward")
_THRESHOLDS = (50000, 50, 1000)
_SCHEDULES = "megatron.core.pipeline_parallel.schedules"

Policy = Union[str, tuple[int, int, int], None]
Function = Callable[..., Any]


def _iterations(schedules: Any, patches: Patches) -> None:
    def of_pass(name: str, original: Function) -> Function:
        def run_pass(*given: Any, **named: Any) -> Any:
            if not patches.live:
                return original(*given, **named)
            evaluates = named.get("forward_only") is True
            _steps_of_passes.begin(evaluates)
            with region("megatron.evaluation" if evaluates else "megatron.iteration"):
                return original(*given, **named)

        return run_pass

    patches.replace_all(schedules, _PASSES, of_pass)
    patches.when_undone(lambda: _steps.release("megatron"))
    patches.when_undone(_steps_of_passes.forget)


class _StepsOfPasses:
    """Steps where nobody says where an iteration ends: as the next training pass begins, which is after the optimizer. What an
    evaluation takes belongs to no step."""

    def __init__(self) -> None:
        self.replaced = False  # by train_step, which knows better
        self._begun: Any = None

    def begin(self, evaluates: bool) -> None:
        _steps.claim("megatron")  # not before: a program that runs no pass has its optimizer's steps
        if self.replaced:
            return
        if not evaluates:
            self._begun = step()
        elif self._begun is not None:
            self._begun.__exit__(None, None, None)
            self._begun = None

    def forget(self) -> None:
        self._begun = None


_steps_of_passes = _StepsOfPasses()


def _train_steps(training: Any, patches: Patches) -> None:
    def of_step(original: Function) -> Function:
        def train_step(*given: Any, **named: Any) -> Any:
            result = original(*given, **named)
            if patches.live:
                _steps.claim("megatron")
                step()
            return result

        return train_step

    patches.replace(training, "train_step", of_step)
    _steps_of_passes.replaced = True
    patches.when_undone(lambda: _steps.release("megatron"))
    patches.when_undone(lambda: setattr(_steps_of_passes, "replaced", False))


def _microbatches(schedules: Any, patches: Patches) -> None:
    def forward(original: Function) -> Function:
        def forward_step(*given: Any, **named: Any) -> Any:
            if not patches.live:
                return original(*given, **named)
            number = named.get("current_microbatch")
            if number is not None:
                mark("megatron.microbatch", number)
            with region("megatron.forward"):
                return original(*given, **named)

        return forward_step

    def backward(original: Function) -> Function:
        def backward_step(*given: Any, **named: Any) -> Any:
            if not patches.live:
                return original(*given, **named)
            with region("megatron.backward"):
                return original(*given, **named)

        return backward_step

    patches.replace(schedules, "forward_step", forward)
    patches.replace(schedules, "backward_step", backward)


class _Phases:
    """The phase that a pass is in, as a region. Where micro-batches do not interleave the pass does not say: the first
    `warmup` forwards are the warm-up, and from then on as many backwards as are left take turns with forwards."""

    def __init__(self) -> None:
        self._name = ""
        self._begun: Any = None
        self._forwards = self._backwards = 0
        self._warmup = self._steady = 0  # forwards, backwards
        self._counts = False

    def begin_pass(self, warmup: int, microbatches: int) -> None:
        self._forwards = self._backwards = 0
        self._warmup, self._steady, self._counts = warmup, microbatches - warmup, True
        self.enter("warmup" if warmup > 0 else "steady")

    def forward(self) -> None:
        self._forwards += 1
        if self._counts and self._forwards == self._warmup + 1:
            self.enter("steady")

    def backward(self) -> None:
        self._backwards += 1
        if self._counts and self._backwards == self._steady + 1:
            self.enter("cooldown")

    def end_pass(self) -> None:
        self._counts = False
        self.leave()

    def enter(self, name: str) -> None:
        if name == self._name:
            return
        self.leave()
        self._name, self._begun = name, region(f"megatron.{name}")
        self._begun.__enter__()

    def leave(self) -> None:
        if self._begun is not None:
            self._begun.__exit__(None, None, None)
        self._name, self._begun = "", None


_phases = _Phases()


def _stages(named: dict[str, Any]) -> tuple[int, int]:
    """(this process's place among the pipeline's stages, how many there are)."""
    group = getattr(named.get("p2p_communicator"), "pp_group", None)
    if group is not None:
        return group.rank(), group.size()
    state = sys.modules["megatron.core.parallel_state"]
    return state.get_pipeline_model_parallel_rank(), state.get_pipeline_model_parallel_world_size()


def _begin_pipelined(named: dict[str, Any]) -> None:
    try:
        rank, stages = _stages(named)
        microbatches = int(named["num_microbatches"])
        _phases.begin_pass(min(stages - rank - 1, microbatches), microbatches)
    except Exception as error:  # another version's
        parts.lacks("phases", error)


def _pipeline(schedules: Any, patches: Patches) -> None:
    def pipelined(original: Function) -> Function:
        def run_pass(*given: Any, **named: Any) -> Any:
            if patches.live:
                _begin_pipelined(named)
            try:
                return original(*given, **named)
            finally:
                _phases.end_pass()

        return run_pass

    def counted(count: Callable[[], None]) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            def call(*given: Any, **named: Any) -> Any:
                if patches.live:
                    count()
                return original(*given, **named)

            return call

        return make

    patches.replace(schedules, "forward_backward_pipelining_without_interleaving", pipelined)
    patches.replace(schedules, "forward_step", counted(_phases.forward))
    patches.replace(schedules, "backward_step", counted(_phases.backward))
    _told_phases(schedules, patches)
    patches.when_undone(_phases.leave)


def _told_phases(schedules: Any, patches: Patches) -> None:
    """An interleaved pass names its phases to NVTX, whether or not NVTX is switched on."""
    def push(original: Function) -> Function:
        def nvtx_range_push(*given: Any, **named: Any) -> Any:
            if patches.live and named.get("suffix") in ("warmup", "steady", "cooldown"):
                _phases.enter(named["suffix"])
            return original(*given, **named)

        return nvtx_range_push

    def pop(original: Function) -> Function:
        def nvtx_range_pop(*given: Any, **named: Any) -> Any:
            if named.get("suffix") in ("warmup", "steady", "cooldown"):
                _phases.leave()
            return original(*given, **named)

        return nvtx_range_pop

    patches.replace(schedules, "nvtx_range_push", push)
    patches.replace(schedules, "nvtx_range_pop", pop)


class _Data:
    """A data iterator that says how long each micro-batch took to come. All else is the iterator's own."""

    __slots__ = ("_iterator",)

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def __iter__(self) -> "_Data":
        return self

    def __next__(self) -> Any:
        fetched = region("megatron.data")
        fetched.__enter__()
        microbatch = next(self._iterator)
        fetched.__exit__(None, None, None)
        return microbatch

    def __getattr__(self, name: str) -> Any:
        if name == "_iterator":  # of a copy that is not filled yet
            raise AttributeError(name)
        return getattr(self._iterator, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_iterator":
            object.__setattr__(self, name, value)
        else:
            setattr(self._iterator, name, value)


def _timed(iterator: Any) -> Any:
    if isinstance(iterator, list):
        return [_timed(one) for one in iterator]
    return _Data(iterator) if hasattr(iterator, "__next__") and not isinstance(iterator, _Data) else iterator


def _fetches(schedules: Any, patches: Patches) -> None:
    def of_pass(name: str, original: Function) -> Function:
        def run_pass(*given: Any, **named: Any) -> Any:
            if patches.live and "data_iterator" in named:
                named["data_iterator"] = _timed(named["data_iterator"])
            return original(*given, **named)

        return run_pass

    patches.replace_all(schedules, _PASSES, of_pass)


def _transfers(module: Any, patches: Patches) -> None:
    def of_transfer(name: str, original: Function) -> Function:
        what = f"megatron.p2p.{name}"

        def transfer(*given: Any, **named: Any) -> Any:
            if not patches.live:
                return original(*given, **named)
            with region(what):
                return original(*given, **named)

        return transfer

    # Before 0.14 they were functions of the module.
    patches.replace_all(getattr(module, "P2PCommunicator", module), _TRANSFERS, of_transfer)


class _Collector:
    """The garbage collector's thresholds: with those of CPython a rank with a million objects pauses 0.2 s every few hundred
    steps, and all others wait for it."""

    def __init__(self) -> None:
        self.wanted: tuple[int, int, int] = _THRESHOLDS

    def switch_on(self, nothing: Any, patches: Patches) -> None:
        before, wanted = collector.get_threshold(), self.wanted

        def put_back() -> None:
            if collector.get_threshold() == wanted:
                collector.set_threshold(*before)

        collector.set_threshold(*wanted)
        patches.when_undone(put_back)


_collector = _Collector()

parts = Parts({
    "iteration": Part(_SCHEDULES, _iterations),
    "train_step": Part("megatron.training.training", _train_steps),
    "microbatch": Part(_SCHEDULES, _microbatches),
    "phases": Part(_SCHEDULES, _pipeline),
    "data": Part(_SCHEDULES, _fetches),
    "p2p": Part("megatron.core.pipeline_parallel.p2p_communication", _transfers),
    "gc": Part(None, _collector.switch_on),
})


def install(names: Optional[Iterable[str]] = None, gc: Policy = "thresholds") -> Report:
    """Switches parts on, all of them if none are named; those that are on stay on. Returns what report() returns.

    `gc`: "thresholds" sets those of the collector to 50000, 50, 1000; three numbers set these; None leaves them alone."""
    wanted = [name for name in (parts.names if names is None else names) if name != "gc"]
    said = parts.install(wanted)
    if gc is None or (names is not None and "gc" not in names):
        return said
    numbers = _THRESHOLDS if gc == "thresholds" else gc
    if isinstance(numbers, tuple) and len(numbers) == 3 and all(isinstance(n, int) and n >= 0 for n in numbers):
        _collector.wanted = numbers
        return parts.install(["gc"])
    parts.say("gc", f'gc={gc!r} is neither "thresholds" nor three whole numbers nor None')
    return parts.report()


def uninstall() -> None:
    """Switches all parts off, and puts the collector's thresholds back unless the program changed them since."""
    parts.uninstall()


def report() -> Report:
    """For each part that was asked for: True, it is on; else one line that says what it waits for or what lacks."""
    return parts.report()
