"""Ports that nobody has, for a local cloud of the tests."""

import os
import socket
from collections.abc import Iterator
from itertools import islice

PORTS = ("port", "nessie_port", "nessie_management_port", "slack_port")
# Below those that systems give to whoever asks for any: nobody is given one before the cloud has started on it.
LOWEST, HIGHEST, OF_ONE_PROCESS = 20_000, 30_000, 10


def free_ports(count: int) -> list[int]:
    return list(islice(_free(), count))


def _free() -> Iterator[int]:
    begin = os.getpid() * OF_ONE_PROCESS % (HIGHEST - LOWEST)
    for offset in range(HIGHEST - LOWEST):
        port = LOWEST + (begin + offset) % (HIGHEST - LOWEST)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        yield port
