"""Parts that are switched on one by one: each waits for a module, changes it, and says how that went."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterable, NamedTuple, Optional, Union

from hostprobe import _arrivals
from hostprobe._patches import Patches

try:
    from hostprobe._marks import preloaded
except ImportError:
    from hostprobe._no_marks import preloaded

Report = dict[str, Union[bool, str]]


class Part(NamedTuple):
    module: Optional[str]  # whose import it waits for
    switch_on: Callable[[Any, Patches], None]  # (the module, what it changes); raises where something lacks


class Parts:
    def __init__(self, parts: dict[str, Part]) -> None:
        self._parts = parts
        self._on: dict[str, Patches] = {}
        self._waiting: dict[str, Callable[[Any], None]] = {}
        self._said: Report = {}
        self._lock = threading.RLock()

    @property
    def names(self) -> list[str]:
        return list(self._parts)

    def install(self, names: Optional[Iterable[str]]) -> Report:
        with self._lock:
            for name in self._parts if names is None else names:
                if name not in self._parts:
                    self._said[str(name)] = f"there is no such part; there are {', '.join(self._parts)}"
                elif not preloaded():
                    self._said[name] = "libhostprobe.so is not preloaded"
                elif name not in self._on and name not in self._waiting:
                    self._begin(name)
            return self.report()

    def uninstall(self) -> None:
        with self._lock:
            _arrivals.forget(list(self._waiting.values()))
            for patches in reversed(list(self._on.values())):
                patches.undo()
            self._on, self._waiting, self._said = {}, {}, {}

    def report(self) -> Report:
        return dict(self._said)

    def say(self, name: str, reason: str) -> None:
        """A part that found out later what it lacks."""
        self._said[name] = reason

    def lacks(self, name: str, error: Exception) -> None:
        """The same, by what went wrong."""
        self.say(name, " ".join(f"{type(error).__name__}: {error}".split())[:200])

    def _begin(self, name: str) -> None:
        def arrived(module: Any) -> None:
            with self._lock:
                self._waiting.pop(name, None)
                self._switch_on(name, module)

        wanted = self._parts[name].module
        if wanted is None:
            arrived(None)
            return
        self._waiting[name] = arrived
        self._said[name] = f"waits until {wanted} is imported"
        _arrivals.when_there(wanted, arrived)

    def _switch_on(self, name: str, module: Any) -> None:
        patches = Patches()
        try:
            self._parts[name].switch_on(module, patches)
        except Exception as error:
            patches.undo()
            self.lacks(name, error)
            return
        self._on[name] = patches
        self._said[name] = True
