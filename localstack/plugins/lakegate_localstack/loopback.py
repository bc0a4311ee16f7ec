"""A listener on GATEWAY_LISTEN's address alone. LocalStack itself takes the port from it, and every interface."""

from functools import partial

from localstack.config import GATEWAY_LISTEN
from twisted.internet import endpoints


def apply() -> None:
    endpoints.TCP4ServerEndpoint = partial(endpoints.TCP4ServerEndpoint, interface=GATEWAY_LISTEN[0].host)
