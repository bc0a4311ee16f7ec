"""`Functions` by their URLs. Each request is signed with the person's own AWS credentials (SigV4), so that AWS says who
asks.
"""

from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus

import boto3
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from requests.auth import AuthBase

from lakegate.adapters.aws import aws_errors
from lakegate.adapters.http import TimeoutAdapter, mount, network_error, status_error
from lakegate.errors import LakegateError, Misconfigured

CONNECT, SECONDS = 5.0, 900.0  # no function runs longer
JSON = "application/json"


@dataclass(frozen=True, kw_only=True)
class FunctionUrls:
    """URLs of the function that answers questions, and of the one that carries acts out. Whoever is refused is told to
    ask for the policy of the stack, by its ARN.
    """

    read: str
    act: str
    read_policy: str
    act_policy: str

    def call(self, operation: str, text: str, *, changes: bool) -> str:
        url = self.act if changes else self.read
        try:
            answer = self._session.post(url, data=text.encode(), headers={"Content-Type": JSON}, auth=_Signature())
        except requests.RequestException as exc:
            raise network_error(operation, exc, changes=changes) from exc
        if answer.status_code == HTTPStatus.OK:
            return answer.text
        raise self._error(operation, answer, changes=changes)

    @cached_property
    def _session(self) -> requests.Session:
        return mount(requests.Session(), TimeoutAdapter((CONNECT, SECONDS), seconds=SECONDS))

    def _error(self, operation: str, answer: requests.Response, *, changes: bool) -> LakegateError:
        """Return our error for Lambda's own answers. lakegate's functions answer with 200, also if they fail."""
        if answer.status_code == HTTPStatus.FORBIDDEN:
            policy = self.act_policy if changes else self.read_policy
            cause = "your AWS credentials may not do this, or are of another account"
            return Misconfigured(f"{operation}: {cause}. Have the policy {policy} attached to your role")
        return status_error(operation, answer.status_code, answer.text, is_catalog=False, changes=changes)


class _Signature(AuthBase):
    """The signature of a request, by the credentials that every other call of this process uses."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        with aws_errors("signing a request"):
            session = boto3.DEFAULT_SESSION or boto3.Session()
            if (credentials := session.get_credentials()) is None:
                raise Misconfigured("there are no AWS credentials; set AWS_PROFILE, or log in with: aws sso login")
            # The signature covers what no proxy on the way changes.
            aws_request = AWSRequest("POST", request.url, {"Content-Type": JSON}, request.body)
            SigV4Auth(credentials.get_frozen_credentials(), "lambda", session.region_name).add_auth(aws_request)
        request.headers.update(dict(aws_request.headers.items()))
        return request
