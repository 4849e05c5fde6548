"""The functions of _marks where that cannot be loaded: they do nothing, and say so."""

from __future__ import annotations

import contextlib
from typing import Any


class _Step(int):
    def __enter__(self) -> _Step:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __repr__(self) -> str:
        return "False"


_not_recorded = _Step(0)
_region: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


def active() -> bool:
    return False


def preloaded() -> bool:
    return False


def start() -> bool:
    return False


def stop() -> bool:
    return False


def trigger(why: object = "") -> bool:
    return False


def step(number: object = None) -> _Step:
    return _not_recorded


def mark(name: object, value: object) -> bool:
    return False


def region(name: object) -> contextlib.AbstractContextManager[Any]:
    return _region


def restart_numbers() -> None:
    return None
