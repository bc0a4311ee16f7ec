"""A `Store` in front of another one. It caches objects that are written once: attempts' jobs, files and ends.

It caches nothing that can change, and no absences: another process may create an absent object at any time.
"""

from collections.abc import Iterable, Mapping

from cachetools import LRUCache

from lakegate.ports import Store

IMMUTABLE = "attempts/"  # created once, never rewritten
MOST_OBJECTS = 64  # objects: a large batch's job is half a megabyte


class ImmutableCache:
    """A caching store; see the module. Several may wrap one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bodies: LRUCache[str, bytes] = LRUCache(MOST_OBJECTS)

    def read(self, name: str) -> bytes | None:
        body: bytes | None = self._bodies.get(name)
        if body is None:
            body = self._store.read(name)
            if body is not None and name.startswith(IMMUTABLE):
                self._bodies[name] = body
        return body

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        return self._store.read_many(names)

    def write(self, name: str, body: bytes) -> None:
        self._bodies.pop(name, None)
        self._store.write(name, body)

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        for name in bodies:
            self._bodies.pop(name, None)
        self._store.write_many(bodies)

    def create(self, name: str, body: bytes) -> bool:
        return self._store.create(name, body)

    def delete(self, name: str) -> None:
        self._bodies.pop(name, None)
        self._store.delete(name)

    def names(self, prefix: str) -> list[str]:
        return self._store.names(prefix)

    def uri(self, name: str) -> str:
        return self._store.uri(name)
