"""`Store` in memory."""

from collections.abc import Iterable, Mapping


class MemoryStore:
    """`Store` as a dictionary."""

    def __init__(self, bucket: str = "service") -> None:
        self.bucket = bucket
        self.objects: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.objects.get(name)

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        return {name: self.objects[name] for name in names if name in self.objects}

    def write(self, name: str, body: bytes) -> None:
        self.objects[name] = body

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        self.objects.update(bodies)

    def create(self, name: str, body: bytes) -> bool:
        if name in self.objects:
            return False
        self.objects[name] = body
        return True

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix))

    def uri(self, name: str) -> str:
        return f"s3://{self.bucket}/{name}"

    def name(self, uri: str) -> str:
        """Return the name of an object from its URI, the reverse of `uri`."""
        return uri.removeprefix(f"s3://{self.bucket}/")
