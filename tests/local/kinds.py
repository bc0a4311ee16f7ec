"""Types of this layer's fixtures, for those who read the tests' arguments."""

from collections.abc import Callable
from typing import Any

Aws = Callable[[str], Any]  # a boto3 client of the local cloud, by service
ArnOf = Callable[[str], str]  # a queue's ARN, by URL
Received = Callable[[str], list[dict[str, Any]]]  # what is in a queue now, by URL
Invoke = Callable[[str, Any], tuple[Any, str | None, str]]  # a function's answer, its kind of error, its log
Make = Callable[..., Any]
