"""Nessie's two REST APIs on one kept session: v1 through pynessie for making and deleting branches, v2 for the rest."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import Lock
from typing import Any

import pynessie
import requests
from cachetools import LRUCache
from confuse import Configuration
from pynessie.client import _endpoints

from lakegate.adapters.http import TimeoutAdapter, mount
from lakegate.adapters.refs import segment
from lakegate.ports import Ref
from lakegate.publishing.nessie.contents import Json, Key
from lakegate.publishing.nessie.errors import nessie_errors

PAGE = 250  # the most that Nessie gives at once
KEYS = 500
CONTENTS = 5000  # cached contents at commits: a receipt is half a kilobyte


class NessieRest:
    """One Nessie. `uri` is its address without /api and without a trailing slash."""

    def __init__(self, uri: str, http: TimeoutAdapter) -> None:
        self._uri, self._http = uri, http
        self._cache: LRUCache[tuple[str, Key], Json | None] = LRUCache(CONTENTS)
        self._lock = Lock()

    @property
    def references(self) -> pynessie.NessieClient:
        """A client for making and deleting branches. pynessie keeps the session for all its clients, so each use sets
        this one's, which has this one's identity.
        """
        _endpoints.requests = self.session
        return self._client

    @cached_property
    def _client(self) -> pynessie.NessieClient:
        """A client made without `pynessie.init`, which writes to the home folder, where a function may not, and reads a
        person's own configuration. pynessie makes each call in a session of Requests' own, which follows redirects and
        waits for ever for a slow answer; it is given our session instead.
        """
        config = Configuration("nessie", read=False)
        config.set({"endpoint": f"{self._uri}/api/v1", "verify": True, "auth": {"type": "none"}})
        return pynessie.NessieClient(config)

    @cached_property
    def session(self) -> requests.Session:
        return mount(requests.Session(), self._http)

    def branch(self, name: str, **query: str) -> Json:
        """Return a branch's reference. Raise Conflict if there is no such branch."""
        reference: Json = self.get(f"reading branch {name}", f"trees/{segment(Ref(name))}", query)["reference"]
        return reference

    def contents(self, ref: Ref, keys: list[Key]) -> dict[Key, Json]:
        """Return contents by key; keys without one are absent. Contents at a commit never change and are cached;
        contents of a branch are read each time.
        """
        if not ref.commit:
            return self._read(ref, keys)
        at = ref.commit
        with self._lock:
            hits = {key: self._cache[at, key] for key in keys if (at, key) in self._cache}
        unknown = [key for key in keys if key not in hits]
        new = self._read(ref, unknown)
        with self._lock:
            self._cache.update({(at, key): new.get(key) for key in unknown})
        return {key: content for key, content in hits.items() if content} | new

    def _read(self, ref: Ref, keys: list[Key]) -> dict[Key, Json]:
        contents: dict[Key, Json] = {}
        for start in range(0, len(keys), KEYS):
            body = {"requestedKeys": [{"elements": list(key)} for key in keys[start : start + KEYS]]}
            answer = self.post(f"reading contents at {ref}", f"trees/{segment(ref)}/contents", body)
            contents |= {tuple(entry["key"]["elements"]): entry["content"] for entry in answer["contents"]}
        return contents

    def commit(
        self, branch: str, expected: str, operations: list[Json], text: str, properties: Mapping[str, str] | None = None
    ) -> str:
        body = {"commitMeta": {"message": text, "properties": dict(properties or {})}, "operations": operations}
        path = f"trees/{segment(Ref(branch))}@{expected}/history/commit"
        answer = self.post(f"committing to {branch}", path, body, changes=True)
        return str(answer["targetBranch"]["hash"])

    def pages(self, action: str, path: str, member: str, query: Mapping[str, str], size: int = PAGE) -> Iterator[Json]:
        token: str | None = None
        while True:
            position = {"page-token": token} if token else {}
            page = self.get(action, path, {**query, "max-records": str(size), **position})
            yield from page[member]
            token = page.get("token")
            if not page.get("hasMore") or not token:
                return

    def get(self, action: str, path: str, query: Mapping[str, str]) -> Json:
        return self._send(action, "GET", path, changes=False, params=query)

    def post(self, action: str, path: str, body: Json, *, changes: bool = False) -> Json:
        return self._send(action, "POST", path, changes=changes, json=body)

    def _send(self, action: str, method: str, path: str, *, changes: bool, **arguments: Any) -> Json:
        with nessie_errors(action, changes=changes):
            answer = self.session.request(method, f"{self._uri}/api/v2/{path}", **arguments)
            answer.raise_for_status()
            body: Json = answer.json()
            return body
