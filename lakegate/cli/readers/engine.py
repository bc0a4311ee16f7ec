"""An engine that reads tables, and the lines that stand at the head of its text. It writes no text itself."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lakegate.cli.readers import quoting
from lakegate.cli.readers.place import Place
from lakegate.cli.readers.reading import Reading

TRIED = "The tests of lakegate run this text, on main and on a branch."
TRIED_ON_MAIN = "The tests of lakegate run this text, on main."
NOT_TRIED = "Nobody has run this text: it is written after the documentation of {}."


@dataclass(frozen=True, kw_only=True)
class Engine:
    """`word` names it on the command line. `comment` begins a comment of its language. A text `is_python` if it is a
    program in Python.
    """

    word: str
    name: str
    page: str
    comment: str
    lines: Callable[[Reading], Iterable[str]]
    tried: str = ""
    reads_branches: bool = True
    is_python: bool = False

    def text(self, reading: Reading) -> str:
        """Return what a person pastes, with its head as comments."""
        head = (f"{self.comment} {quoting.comment(line)}" for line in self.head(reading))
        return "\n".join([*head, *self.lines(reading)])

    def head(self, reading: Reading) -> Iterator[str]:
        yield f"{self.name}: {reading.table} on {reading.ref}, at {reading.place.nessie_uri}. See {self.page}"
        yield self.tried or NOT_TRIED.format(self.name)
        if (path := reading.place.variables) and not self.is_python:
            yield f"Before it, in the shell that starts it: set -a; . {quoting.shell(path)}; set +a"
        yield from rights(reading)


def rights(reading: Reading) -> Iterator[str]:
    """Yield what a reader needs of this installation before it can run the text."""
    place, role = reading.place, reading.role
    if place.token_endpoint:
        yield f"It is the client {place.client(role).id}, which has the role {role} in Nessie."
    elif place.audience:
        yield f"Run it as an IAM role that has the tag lakegate={role}: its token lasts for an hour."
    if place.read_policy:
        yield f"It reads files by its own AWS rights: {place.read_policy} gives them, but for quarantine."
    if place.has_own_authority:
        yield "Nessie's certificate is of an authority of your own, which has to be trusted here."


def credential_command(reading: Reading) -> str:
    """Return the command that gives a program the client and its secret. Neither needs quotes: `Listed` allows letters,
    digits and a few signs.
    """
    client = reading.place.client(reading.role)
    secret = "<its secret>"
    if client.secret:
        ask = f"aws secretsmanager get-secret-value --secret-id {client.secret}"
        secret = f"$({ask} --query SecretString --output text)"
    return f'export LAKEGATE_CREDENTIAL="{client.id}:{secret}"'


def token_command(place: Place) -> str:
    """Return the command that prints a token of AWS STS for this catalog."""
    audience = quoting.shell(place.audience)
    return (
        f"aws sts get-web-identity-token --audience {audience} --signing-algorithm RS256 --duration-seconds 3600"
        f" --query WebIdentityToken --output text"
    )
