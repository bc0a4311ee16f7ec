"""Function URLs in this process: a request becomes the event that Lambda makes of it, and the response an answer."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from handlers import operate
from lakegate.ports.lake import Reading
from lakegate.workflow.service import Service

ANN = "arn:aws:sts::123456789012:assumed-role/Operators/ann@example.com"


def event(text: str, by: str = ANN) -> dict[str, Any]:
    """Return what Lambda hands over for a POST to a function URL with AuthType AWS_IAM."""
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/",
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "host": "abcdef.lambda-url.eu-central-1.on.aws"},
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abcdef",
            "authentication": None,
            "authorizer": {
                "iam": {
                    "accessKey": "ASIAIOSFODNN7EXAMPLE",
                    "accountId": "123456789012",
                    "callerId": "AROAIOSFODNN7EXAMPLE:ann@example.com",
                    "cognitoIdentity": None,
                    "principalOrgId": None,
                    "userArn": by,
                    "userId": "AROAIOSFODNN7EXAMPLE:ann@example.com",
                }
            },
            "domainName": "abcdef.lambda-url.eu-central-1.on.aws",
            "domainPrefix": "abcdef",
            "http": {
                "method": "POST",
                "path": "/",
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "python-requests",
            },
            "requestId": "00000000-0000-0000-0000-000000000000",
            "routeKey": "$default",
            "stage": "$default",
            "time": "31/Jan/2013:00:00:00 +0000",
            "timeEpoch": 1359590400000,
        },
        "body": text,
        "isBase64Encoded": False,
    }


def text_of(response: dict[str, Any]) -> str:
    """Return what a client reads of a function's response."""
    assert json.loads(json.dumps(response)) == response
    assert (response["statusCode"], response["headers"]["Content-Encoding"]) == (200, "gzip")
    return gzip.decompress(base64.b64decode(response["body"])).decode()


@dataclass(kw_only=True)
class Called:
    """`Functions` of a service in memory. `asked` are the requests with the function that each went to."""

    service: Service
    sweep: Callable[[Service], None]
    reading: Callable[[str], Reading]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def call(self, what: str, text: str, *, changes: bool) -> str:
        self.asked.append(("act" if changes else "read", what))
        service, sweep, reading = lambda: self.service, self.sweep, self.reading
        with patch.multiple(operate, service=service, sweep=sweep, reading=reading):
            return text_of((operate.act if changes else operate.read)(event(text), None))
