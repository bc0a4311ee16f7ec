"""Ports that nobody has, for a local cloud of the tests."""

import contextlib
import socket

PORTS = ("port", "nessie_port", "nessie_management_port", "slack_port")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [found.getsockname()[1] for found in sockets]
