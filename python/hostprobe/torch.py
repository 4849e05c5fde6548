"""What PyTorch's Python side does, as regions, marks and steps of hostprobe.

    import hostprobe.torch
    hostprobe.torch.install()

Parts, each of which can be asked for alone (`install(["optimizer", "sync"])`):

dataloader   regions `dataloader.start`, `dataloader.fetch` (one per batch) and `dataloader.end`, followed by the data set's
             class and the loader's number in this process: `dataloader.fetch Samples#0`
queue        with workers, at each fetch: marks `dataloader.ready` (batches that lie there already; 0: the program waits) and
             `dataloader.outstanding` (batches that were asked for and not yet taken), with the same words behind
pin_memory   region `pin_memory.copy` in the thread that copies a batch into pinned memory
optimizer    the step mark, as `hostprobe.step()`, when the optimizer that stepped first steps again
grad_scaler  the step mark for iterations whose optimizer step GradScaler leaves out
sync         regions `sync.item`, `sync.cpu`, `sync.tolist`, `sync.numpy` of tensors on a GPU, and `sync.synchronize`,
             `sync.stream`, `sync.event`, followed by the line that called: `sync.item loop.py:42`
compile      region `jit_compile` while torch.compile compiles

Nothing is imported that the program does not import: a part waits for its module. None of this raises into the program. Where
libhostprobe.so is not preloaded nothing is changed. docs/reference/python.md tells what each part replaces and costs.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from typing import Any, Callable, Iterable, Optional

from hostprobe import _steps, mark, region, step
from hostprobe._parts import Part, Parts, Report
from hostprobe._patches import Patches

__all__ = ["install", "report", "uninstall"]

_MOST_LOADERS = 64  # names are kept for the whole run, so there must be an end to them
_MOST_SITES = 256
_FOLLOW_AFTER = 8  # steps of other optimizers, then the first one is not waited for any longer


class _Names:
    """The names of one loader's regions and marks."""

    def __init__(self, who: str) -> None:
        self.start, self.fetch, self.end = (f"dataloader.{what}{who}" for what in ("start", "fetch", "end"))
        self.ready, self.outstanding = f"dataloader.ready{who}", f"dataloader.outstanding{who}"


class _Loaders:
    """Numbers loaders as they are first iterated over, and remembers which iterator is whose."""

    def __init__(self) -> None:
        self._count = 0
        self._loaders: weakref.WeakKeyDictionary[Any, _Names] = weakref.WeakKeyDictionary()
        self._iterators: weakref.WeakKeyDictionary[Any, _Names] = weakref.WeakKeyDictionary()
        self._other = _Names("")

    def of_loader(self, loader: Any) -> _Names:
        names = self._loaders.get(loader)
        if names is None:
            names = self._loaders[loader] = self._next(type(getattr(loader, "dataset", None)).__name__)
        return names

    def iterates(self, iterator: Any, names: _Names) -> None:
        self._iterators[iterator] = names

    def of_iterator(self, iterator: Any) -> _Names:
        return self._iterators.get(iterator, self._other)

    def _next(self, dataset: str) -> _Names:
        if self._count >= _MOST_LOADERS:
            return self._other
        self._count += 1
        return _Names(f" {dataset[:64]}#{self._count - 1}")


_loaders = _Loaders()


def _fetches(module: Any, patches: Patches) -> None:
    def start(original: Callable[..., Any]) -> Callable[..., Any]:
        def __iter__(loader: Any) -> Any:
            if not patches.live:
                return original(loader)
            names = _loaders.of_loader(loader)
            with region(names.start):
                iterator = original(loader)
            _loaders.iterates(iterator, names)
            return iterator

        return __iter__

    def fetch(original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(iterator: Any) -> Any:
            if not patches.live:
                return original(iterator)
            names = _loaders.of_iterator(iterator)
            fetched, ended = region(names.fetch), region(names.end)
            fetched.__enter__()
            ended.__enter__()
            try:
                batch = original(iterator)
            except StopIteration:
                ended.__exit__(None, None, None)  # and no fetch: a region that is not ended leaves no record
                raise
            fetched.__exit__(None, None, None)
            return batch

        return __next__

    patches.replace(module.DataLoader, "__iter__", start)
    patches.replace(module._BaseDataLoaderIter, "__next__", fetch)


def _queues(module: Any, patches: Patches) -> None:
    def next_batch(original: Callable[..., Any]) -> Callable[..., Any]:
        def _next_data(iterator: Any) -> Any:
            try:
                if patches.live:
                    _mark_queue(iterator, _loaders.of_iterator(iterator))
            except Exception as error:  # another version's, or a queue that cannot count
                parts.lacks("queue", error)
            return original(iterator)

        return _next_data

    patches.replace(module._MultiProcessingDataLoaderIter, "_next_data", next_batch)


def _mark_queue(iterator: Any, names: _Names) -> None:
    early = sum(len(task) == 2 for task in iterator._task_info.values())  # came before their turn
    mark(names.ready, iterator._data_queue.qsize() + early)
    mark(names.outstanding, iterator._tasks_outstanding)


def _pinning(module: Any, patches: Patches) -> None:
    thread = threading.local()

    def pin(original: Callable[..., Any]) -> Callable[..., Any]:
        def pin_memory(*given: Any, **named: Any) -> Any:
            if getattr(thread, "inside", False) or not patches.live:  # it calls itself for what lies in a batch
                return original(*given, **named)
            thread.inside = True
            try:
                with region("pin_memory.copy"):
                    return original(*given, **named)
            finally:
                thread.inside = False

        return pin_memory

    patches.replace(module, "pin_memory", pin)


class _Rounds:
    """Of several optimizers in an iteration one marks the steps: the first that is seen, as long as it goes on stepping."""

    def __init__(self) -> None:
        self._leader: Callable[[], Any] = lambda: None
        self._others = 0  # steps of others since the leader's last
        self.marked = False  # since GradScaler was last updated

    def stepped(self, optimizer: Any) -> None:
        leader = self._leader()
        if leader is not optimizer:
            self._others += 1
            if leader is not None and self._others <= _FOLLOW_AFTER:
                return
            self._leader = weakref.ref(optimizer)
        self._others = 0
        self._mark()

    def updated(self) -> None:
        if not self.marked and self._leader() is not None:
            self._mark()
        self.marked = False

    def _mark(self) -> None:
        self.marked = True
        if _steps.marks("torch"):
            step()


_rounds = _Rounds()


def _is_compiling() -> Callable[[], bool]:
    """torch.compile traces through our functions; this tells them to stay out of what it compiles."""
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    found = getattr(compiler, "is_compiling", None)
    return found if callable(found) else lambda: False


def _optimizers(module: Any, patches: Patches) -> None:
    def hook(optimizer: Any, given: Any, named: Any) -> None:
        if patches.live:
            _rounds.stepped(optimizer)

    if not callable(getattr(module, "register_optimizer_step_post_hook", None)):
        raise AttributeError(f"{module.__name__} has no register_optimizer_step_post_hook")
    hook._torchdynamo_disable = True  # type: ignore[attr-defined]  # a compiled optimizer calls it, and does not look inside
    handle = module.register_optimizer_step_post_hook(hook)
    _steps.claim("torch")
    patches.when_undone(handle.remove)
    patches.when_undone(lambda: _steps.release("torch"))


def _scalers(module: Any, patches: Patches) -> None:
    def updates(original: Callable[..., Any]) -> Callable[..., Any]:
        def update(*given: Any, **named: Any) -> Any:
            result = original(*given, **named)
            if patches.live:
                _rounds.updated()
            return result

        return update

    patches.replace(module.GradScaler, "update", updates)


class _Sites:
    """Names of calls by the line of the program that made them, the nearest outside of PyTorch."""

    _DEEPEST = 32

    def __init__(self, torch_folder: str) -> None:
        self._outside = torch_folder
        self._names: dict[tuple[str, str, int, int], str] = {}

    def name(self, what: str, frame: Any) -> str:
        code = frame.f_code
        for _ in range(self._DEEPEST):
            if not code.co_filename.startswith(self._outside) or frame.f_back is None:
                break
            frame = frame.f_back
            code = frame.f_code
        key = (what, code.co_filename, code.co_firstlineno, frame.f_lasti)  # cheaper than the line
        return self._names.get(key) or self._new(key, what, frame)

    def _new(self, key: tuple[str, str, int, int], what: str, frame: Any) -> str:
        if len(self._names) >= _MOST_SITES:
            return what
        folder, file = os.path.split(frame.f_code.co_filename)
        self._names[key] = f"{what} {os.path.join(os.path.basename(folder), file)[-100:]}:{frame.f_lineno}"
        return self._names[key]


_TENSOR_CALLS = ("item", "cpu", "tolist", "numpy")


def _syncs(torch: Any, patches: Patches) -> None:
    sites = _Sites(os.path.dirname(getattr(torch, "__file__", None) or "?") + os.sep)
    compiling = _is_compiling()
    tensor = torch.Tensor
    plain = getattr(getattr(torch, "_C", None), "_disabled_torch_function_impl", None)

    def of_tensor(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        what = f"sync.{name}"

        def call(self: Any, *given: Any, **named: Any) -> Any:
            # A subclass that takes over torch's functions would be asked for `is_cuda` as well; it is left alone.
            kind = type(self)
            if (kind is tensor or kind.__torch_function__ is plain) and self.is_cuda and patches.live and not compiling():
                with region(sites.name(what, sys._getframe(1))):
                    return original(self, *given, **named)
            return original(self, *given, **named)

        return call

    def of_device(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any, **named: Any) -> Any:
                if compiling() or not patches.live:
                    return original(*given, **named)
                with region(sites.name(what, sys._getframe(1))):
                    return original(*given, **named)

            return call

        return make

    patches.replace_all(tensor, _TENSOR_CALLS, of_tensor)
    patches.replace(torch.cuda, "synchronize", of_device("sync.synchronize"))
    patches.replace(torch.cuda.Stream, "synchronize", of_device("sync.stream"))
    patches.replace(torch.cuda.Event, "synchronize", of_device("sync.event"))


def _compiles(module: Any, patches: Patches) -> None:
    begun: dict[int, Any] = {}  # of each thread that compiles

    def begins(*event: Any) -> None:
        begun[threading.get_ident()] = began = region("jit_compile")
        began.__enter__()

    def ends(*event: Any) -> None:
        compiled = begun.pop(threading.get_ident(), None)  # none: another thread began it, and its time would be wrong
        if compiled is not None:
            compiled.__exit__(None, None, None)

    handler = module.callback_handler

    def keeps_ours(original: Callable[..., Any]) -> Callable[..., Any]:
        def clear(other: Any) -> Any:  # torch.compiler.reset() clears everybody's
            try:
                return original(other)
            finally:
                if patches.live and other is handler:
                    _register(handler, begins, ends)

        return clear

    _register(handler, begins, ends)
    patches.when_undone(lambda: handler.remove_end_callback(ends))
    patches.when_undone(lambda: handler.remove_start_callback(begins))
    patches.replace(type(handler), "clear", keeps_ours)


def _register(handler: Any, begins: Callable[..., None], ends: Callable[..., None]) -> None:
    handler.register_start_callback(begins)
    handler.register_end_callback(ends)


parts = Parts({
    "dataloader": Part("torch.utils.data.dataloader", _fetches),
    "queue": Part("torch.utils.data.dataloader", _queues),
    "pin_memory": Part("torch.utils.data._utils.pin_memory", _pinning),
    "optimizer": Part("torch.optim.optimizer", _optimizers),
    "grad_scaler": Part("torch.amp.grad_scaler", _scalers),
    "sync": Part("torch", _syncs),
    "compile": Part("torch._dynamo.callback", _compiles),
})


def install(names: Optional[Iterable[str]] = None) -> Report:
    """Switches parts on, all of them if none are named; those that are on stay on. Returns what report() returns."""
    return parts.install(names)


def uninstall() -> None:
    """Switches all parts off. What they replaced is what it was; what others replaced since then is theirs."""
    parts.uninstall()


def report() -> Report:
    """For each part that was asked for: True, it is on; else one line that says what it waits for or what lacks."""
    return parts.report()
