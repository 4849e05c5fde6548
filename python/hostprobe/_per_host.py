"""Metrics of ranks as two values of each host, the largest and the median: what a Prometheus can keep of ten thousand ranks.

A counter of the two grows by what the rank that gained most, and the median rank, gained since the metrics were asked for last: a rank
that comes or goes never makes it fall, which Prometheus would take for a start from nothing. Histograms are added up.
"""

import statistics
import threading
from typing import Any, Dict, Iterable, Iterator, List, Tuple

__all__ = ["PerHost"]

_Labels = Tuple[Tuple[str, str], ...]
_Key = Tuple[str, _Labels]


def _without_rank(labels: Dict[str, str]) -> _Labels:
    return tuple((name, value) for name, value in labels.items() if name != "rank")


class PerHost:
    """`core`: prometheus_client.core."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._last: Dict[_Key, float] = {}  # of counters, by rank
        self._grown: Dict[Tuple[_Key, str], float] = {}

    def of(self, families: Iterable[Any]) -> Iterator[Any]:
        """Those with a rank in the place of what they are made of, the others as they are."""
        with self._lock:
            seen: Dict[_Key, float] = {}
            yield from [self._one(family, seen) for family in families]
            self._last = seen
            self._forget()

    def _one(self, family: Any, seen: Dict[_Key, float]) -> Any:
        groups: Dict[_Key, List[float]] = {}
        for sample in family.samples:
            if "rank" not in sample.labels:
                return family
            value = sample.value
            if family.type == "counter":
                key = (sample.name, tuple(sample.labels.items()))
                seen[key] = value
                value = self._gained(key, value)
            groups.setdefault((sample.name, _without_rank(sample.labels)), []).append(value)
        reduced = self._core.Metric(family.name, family.documentation, family.type)
        for key, values in groups.items():
            name, labels = key
            if family.type == "histogram":
                reduced.add_sample(name, dict(labels), sum(values))
                continue
            for which, value in (("max", max(values)), ("median", statistics.median(values))):
                if family.type == "counter":
                    value += self._grown.get((key, which), 0.0)
                    self._grown[key, which] = value
                reduced.add_sample(name, {**dict(labels), "of": which}, value)
        return reduced

    def _gained(self, key: _Key, value: float) -> float:
        """A rank that is new, or began again from nothing, has gained all that it has."""
        before = self._last.get(key, 0.0)
        return value if value < before else value - before

    def _forget(self) -> None:
        """Of jobs that have no rank here any more."""
        living = {(name, _without_rank(dict(labels))) for name, labels in self._last}
        self._grown = {of: value for of, value in self._grown.items() if of[0] in living}
