"""Who marks the steps of this process. A step must be marked once, so of those that claim to the one that knows more does."""

from __future__ import annotations

_ORDER = ("megatron", "torch")
_claims: set[str] = set()


def claim(name: str) -> None:
    _claims.add(name)


def release(name: str) -> None:
    _claims.discard(name)


def marks(name: str) -> bool:
    """Whether this one does."""
    return next((other for other in _ORDER if other in _claims), None) == name
