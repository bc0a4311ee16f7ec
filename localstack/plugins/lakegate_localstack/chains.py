"""Chains of calls by their root, and how often each has called a function. Lambda ends a chain at the seventeenth call
of a function.
"""

import json
import threading
from collections import Counter, OrderedDict
from contextlib import suppress

LONGEST, KEPT = 16, 10_000  # calls of a function in a chain; chains and calls that are remembered


class Chains:
    """The chains of the latest calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[str, Counter[str]] = OrderedDict()
        self._roots: OrderedDict[str, str] = OrderedDict()  # by the id of a call

    def root(self, payload: bytes, root: str) -> str:
        """Return the root of the chain that a call goes on: that of the call whose result is the payload, if it is one,
        or the given one.
        """
        with suppress(ValueError, TypeError, KeyError):
            return self._roots[json.loads(payload)["requestContext"]["requestId"]]
        return root

    def go_on(self, root: str, function: str, call: str) -> bool:
        """Count a call. Return False if the chain has called the function too often."""
        with self._lock:
            self._roots[call] = root
            count = self._counts.setdefault(root, Counter())
            count[function] += 1
            for known in (self._counts, self._roots):
                if len(known) > KEPT:
                    known.popitem(last=False)
            return count[function] <= LONGEST
