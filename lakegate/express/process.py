"""One process of the express lane: what it keeps from one job to the next, so that a warm one has it ready.

A client of AWS, a token and DuckDB take longer to make than a small file takes to be audited. Nothing of a job is kept
but metadata files, which never change, and connections to Nessie are each job's own: a commit must not go over one that
has died meanwhile.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property

from lakegate.adapters.http import TimeoutAdapter, door
from lakegate.adapters.iceberg.files import Files
from lakegate.adapters.tokens import tokens_of
from lakegate.audit.model.job import Job
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.objects import DataIO, Objects

_MIB = 1024**2
_CODE_MEMORY = 256 * _MIB  # of a function's memory, which the bound does not count: code, as far as it is loaded


def bound_memory(megabytes: int) -> None:
    """Limit this process's data. A job out of memory then raises MemoryError, and its files go to Spark; otherwise
    Lambda kills the function. A file may claim fewer bytes than come out of it.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes * _MIB - _CODE_MEMORY, hard))


class Process:
    """A process that runs one job after the other, each within the limits."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.metadata = Files()
        self._tokens = cache(tokens_of)
        self._idle: DuckDB | None = None

    @cached_property
    def objects(self) -> Objects:
        return Objects()

    @cached_property
    def data(self) -> DataIO:
        return DataIO(self.objects)

    def http(self, job: Job) -> TimeoutAdapter:
        """Return the adapter that reaches the job's Nessie with its identity, over connections of its own."""
        return door(job.catalog.uri, self._tokens(job.catalog), job.catalog.authorities)

    @contextmanager
    def duckdb(self) -> Iterator[DuckDB]:
        """Yield a DuckDB. It is kept for the next job, unless this one ends with an error, which may be its own."""
        duckdb, self._idle = self._idle or DuckDB(self.limits), None
        try:
            yield duckdb
        except BaseException:
            duckdb.close()
            raise
        self._idle = duckdb
