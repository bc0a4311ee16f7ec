"""Reads of many files, each by itself, so that a failure has its file. It knows no format."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from spark_jobs.jvm.failures import FAILURES, is_unreachable

T = TypeVar("T")
R = TypeVar("R")
THREADS = 8


def per_file(items: Sequence[T], read: Callable[[T], R], threads: int) -> list[R | Exception]:
    """Return the result of each item, or its error.

    An item that fails beside others is read again alone, because another may have taken the memory. Raise the error if
    storage still cannot be reached: that is no fault of the item.
    """
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(lambda item: _attempt(read, item), items))
    final_results = [
        _attempt(read, item) if isinstance(result, Exception) and items[1:] else result
        for item, result in zip(items, results, strict=True)
    ]
    for result in final_results:
        if isinstance(result, Exception) and is_unreachable(result):
            raise result
    return final_results


def _attempt(read: Callable[[T], R], item: T) -> R | Exception:
    try:
        return read(item)
    except FAILURES as error:
        return error
