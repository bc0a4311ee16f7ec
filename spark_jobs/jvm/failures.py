"""Exceptions of Spark's JVM: their causes, a short reason, and who is at fault: a file, or a storage out of reach."""

import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from lakegate.audit.issuer import code_in

FAILURES = (Py4JJavaError, CapturedException)
"""Exceptions of the JVM in Python: pyspark translates some of them."""
_LONGEST = 200
_SPARK_EXCEPTION, _TASK_FAILURE = "org.apache.spark.SparkException", "stage failure"
# Spark 4 puts its own words around those of the job's raise_error.
_RAISE_MESSAGE = re.compile(r"^\[USER_RAISED_EXCEPTION\] (.*) SQLSTATE: \w+$")
_TASK = "org.apache.spark.scheduler.Task"
_IN_TRACE = re.compile(r"(?: executor \S+\): |^Caused by: )([\w.$]+)", re.MULTILINE)
_ENDS_EARLY = re.compile(r"\.(?:FileNotFoundException|EOFException)$")
_CATALOG = "org.apache.iceberg.exceptions."
_NOT_ALLOWED = (f"{_CATALOG}ForbiddenException", f"{_CATALOG}NotAuthorizedException")
_REFUSAL = re.compile(r"'[A-Z_]+' is not allowed for role '")
_TOKENS = "org.apache.iceberg.rest.auth.OAuth2"
# A library that bundles a client puts its own package name before the client's.
_UNREACHABLE = re.compile(
    r"""(?x) (?:^|\.) (?:
    java\.net\.(?:Socket|SocketTimeout|Connect|NoRouteToHost|UnknownHost)Exception
    | javax\.net\.ssl\.SSL\w*Exception
    | java\.nio\.file\.AccessDeniedException
    | org\.apache\.hadoop\.security\.AccessControlException
    | org\.apache\.(?:http|hc\.core5\.http)\.(?:NoHttpResponse|ConnectionClosed|conn\.\w+)Exception
    | org\.apache\.iceberg\.exceptions\.ServiceUnavailableException
    | (?:com\.amazonaws|software\.amazon\.awssdk)\.[\w.$]+
    )$"""
)


def causes(error: Exception) -> Iterator[Any]:
    """Yield the Java exception, its cause, and so on."""
    exception = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    while exception is not None:
        yield exception
        exception = exception.getCause()


def class_names(error: Exception) -> list[str]:
    """Return the class names of the Java exception and its causes, outermost first."""
    return [str(cause.getClass().getName()) for cause in causes(error)]


def is_caused_by(error: Exception, *classes: str) -> bool:
    """Return True if the name of the Java exception's class, or of a cause's, ends with one of these."""
    return any(name.endswith(classes) for name in class_names(error))


def mentions(error: Exception, text: str) -> bool:
    """Return True if the message of the Java exception, or of a cause, has the text."""
    return any(text in str(cause.getMessage()) for cause in causes(error))


def root_cause(error: Exception) -> str:
    """Return the innermost Java exception as one short line, without the addresses of our buckets."""
    if is_caused_by(error, "OutOfMemoryError"):
        return "it takes more memory than there is"
    if is_of_issuer(error):
        codes = [code for cause in causes(error) if (code := code_in(str(cause.getMessage())))]
        return " ".join(["the issuer gives the job's client no token", *codes[-1:]])
    if is_caused_by(error, ".thrift.transport.TTransportException"):
        return "it ends too early"  # parquet's reader calls it a socket error
    innermost = list(causes(error))[-1:]
    message = str(innermost[0].getMessage() or innermost[0].getClass().getSimpleName()) if innermost else str(error)
    line = next(iter(message.strip().splitlines()), type(error).__name__)
    line = _RAISE_MESSAGE.sub(r"\1", line)
    return re.sub(r"\b[a-z0-9]+://\S+|\bfile:/\S+", "the file", line)[:_LONGEST]


def is_of_issuer(error: BaseException | None) -> bool:
    """Return True if Iceberg's own client was given no token, here or in what led to the error. Its text has what the
    issuer says, which may be the client's secret.
    """
    if error is None:
        return False
    is_own = isinstance(error, FAILURES) and any(_has_frame(cause, _TOKENS) for cause in causes(error))
    return is_own or is_of_issuer(error.__cause__ or error.__context__)


def is_unreachable(error: Exception) -> bool:
    """Return True if storage or a service could not be reached, so nothing is known of the data: a network, a
    permission or a throttle is in the way.

    The outermost cause that says either decides, because storage also reports a missing or truncated file as its own
    error.
    """
    for kinds in _class_names(error):
        if any(_ENDS_EARLY.search(kind) for kind in kinds):
            return False
        if any(_UNREACHABLE.search(kind) for kind in kinds):
            return True
    return False


def is_refused(error: Exception) -> bool:
    """Return True if the catalog knows the job's role and does not allow what it does. Nessie's Iceberg REST answers
    that with a server error, so its text tells it from an outage.
    """
    for cause in causes(error):
        name, message = str(cause.getClass().getName()), str(cause.getMessage())
        if name.endswith(_NOT_ALLOWED) or (name.startswith(_CATALOG) and _REFUSAL.search(message)):
            return True
    return False


def _class_names(error: Exception) -> Iterator[list[str]]:
    """Yield the classes of each cause with their superclasses, outermost first.

    A task's causes may be lost on their way to the driver; then their names are in the text of the stage failure
    alone. No other text is searched, because it may quote a file.
    """
    last, message = "", ""
    for cause in causes(error):
        kinds, message = list(_superclasses(cause)), str(cause.getMessage())
        last = kinds[0]
        yield kinds
    if last == _SPARK_EXCEPTION and _TASK_FAILURE in message:
        yield from ([name] for name in _IN_TRACE.findall(message))


def _superclasses(cause: Any) -> Iterator[str]:
    kind = cause.getClass()
    while kind is not None:
        yield str(kind.getName())
        kind = kind.getSuperclass()


def is_task_failure(error: Exception) -> bool:
    """Return True if a task failed. Spark 4 gives a task's own error in place of the stage's."""
    return mentions(error, _TASK_FAILURE) or any(_has_frame(cause, _TASK) for cause in causes(error))


def _has_frame(cause: Any, of: str) -> bool:
    return any(str(frame.getClassName()).startswith(of) for frame in cause.getStackTrace())
