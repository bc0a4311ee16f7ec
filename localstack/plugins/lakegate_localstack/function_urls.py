"""Function URLs at the gateway's own address, because a host of their own needs a resolver, and with the caller in the
event, as AWS has it. A request without a signature is refused, and the signature is not checked.
"""

import re
from functools import partial
from typing import Any

from localstack.aws.connect import connect_to
from localstack.config import GATEWAY_LISTEN
from localstack.http import Response
from localstack.services.lambda_ import provider, urlrouter
from localstack.utils.patch import patch

PATH = "/_function_url"
SIGNATURE = re.compile(r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/[0-9]{8}/(?P<region>[^/]+)/lambda/aws4_request,.*")


def apply() -> None:
    provider.FunctionUrlConfig = partial(_config, provider.FunctionUrlConfig)
    patch(urlrouter.FunctionUrlRouter.register_routes)(_register)
    patch(urlrouter.event_for_lambda_url)(_event)


def _config(original: Any, **given: Any) -> Any:
    gateway = GATEWAY_LISTEN[0]
    return original(**given | {"url": f"http://{gateway.host}:{gateway.port}{PATH}/{given['url_id']}/"})


def _register(original: Any, router: Any) -> None:
    if not router.registered:
        router.router.add(f"{PATH}/<api_id>/", endpoint=partial(_serve, router))
    original(router)


def _serve(router: Any, request: Any, api_id: str) -> Any:
    signed = SIGNATURE.match(request.headers.get("Authorization", ""))
    if not signed:
        return Response('{"Message":"Forbidden"}', status=403, mimetype="application/json")
    return router.handle_lambda_url_invocation(request, api_id, signed["region"])


def _event(original: Any, api_id: str, request: Any) -> dict[str, Any]:
    """Return the event with the caller's identity, and with the path that the function has on AWS."""
    event: dict[str, Any] = original(api_id, request)
    if signed := SIGNATURE.match(request.headers.get("Authorization", "")):
        event["rawPath"] = event["requestContext"]["http"]["path"] = "/"
        event["requestContext"] |= _caller(signed["key"], signed["region"])
    return event


def _caller(key: str, region: str) -> dict[str, Any]:
    """Return what AWS says of a request's signer."""
    sts = connect_to(aws_access_key_id=key, aws_secret_access_key=key, region_name=region).sts
    known = sts.get_caller_identity()
    iam = {
        "accessKey": key,
        "accountId": known["Account"],
        "callerId": known["UserId"],
        "cognitoIdentity": None,
        "principalOrgId": None,
        "userArn": known["Arn"],
        "userId": known["UserId"],
    }
    return {"accountId": known["Account"], "authorizer": {"iam": iam}}
