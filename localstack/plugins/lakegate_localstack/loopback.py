"""Makes LocalStack listen where GATEWAY_LISTEN says: by itself it takes the port from there and every interface."""

from functools import partial

from localstack.config import GATEWAY_LISTEN
from twisted.internet import endpoints


def apply() -> None:
    endpoints.TCP4ServerEndpoint = partial(endpoints.TCP4ServerEndpoint, interface=GATEWAY_LISTEN[0].host)
