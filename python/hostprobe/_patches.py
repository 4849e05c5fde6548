"""Functions of other packages put behind ours, and put back.

Whoever replaces a function again behind us keeps what it made. Then ours stays below it for good, so each of ours asks
`Patches.live`, and where that is False only calls through.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

Function = Callable[..., Any]


class _Patch(NamedTuple):
    owner: Any
    name: str
    original: Any
    own: bool  # the owner itself had it, not a class below
    ours: Any


class Patches:
    """What one part of a package changed."""

    def __init__(self) -> None:
        self.live = True
        self._made: list[_Patch] = []
        self._undo: list[Callable[[], Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Function], Function]) -> None:
        """Puts make(original) in the place of owner.name, under the original's name and docstring. AttributeError: the owner
        has no such function."""
        if not callable(getattr(owner, name, None)):
            raise AttributeError(f"{getattr(owner, '__name__', owner)} has no {name}")
        own = name in vars(owner)
        original = vars(owner)[name] if own else getattr(owner, name)
        ours = functools.wraps(original)(make(original))
        setattr(owner, name, ours)
        self._made.append(_Patch(owner, name, original, own, ours))

    def replace_all(self, owner: Any, names: tuple[str, ...], make: Callable[[str, Function], Function]) -> None:
        """The same for those of several names that the owner has. AttributeError: it has none."""
        there = [name for name in names if callable(getattr(owner, name, None))]
        if not there:
            raise AttributeError(f"{getattr(owner, '__name__', owner)} has none of {', '.join(names)}")
        for name in there:
            self.replace(owner, name, functools.partial(make, name))

    def when_undone(self, call: Callable[[], Any]) -> None:
        self._undo.append(call)

    def undo(self) -> None:
        """Puts everything back, the last first. What fails is left as it is: a program may have removed it."""
        self.live = False
        for patch in reversed(self._made):
            if vars(patch.owner).get(patch.name) is not patch.ours:
                continue
            if patch.own:
                setattr(patch.owner, patch.name, patch.original)
            else:
                delattr(patch.owner, patch.name)
        for call in reversed(self._undo):
            try:
                call()
            except Exception:
                pass
        self._made, self._undo = [], []
