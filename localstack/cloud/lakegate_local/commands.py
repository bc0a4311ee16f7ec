"""`lakegate local up | down | slack`: the commands of the local cloud. The work is done in `cloud`."""

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from lakegate.home import Home
from lakegate_local.cloud import Cloud
from lakegate_local.settings import HOME, LocalSettings
from lakegate_local.slack_messages import read, rendered

app = typer.Typer(
    help="Start and stop the local cloud without Docker: LocalStack, Nessie and a Slack stand-in.",
    no_args_is_help=True,
    add_completion=False,
)
console = Console()


@app.command()
def up() -> None:
    """Start the local cloud and deploy the stack to it. Steps that are done already are skipped."""
    settings = LocalSettings.from_env()
    with progress() as tell:
        Cloud(settings=settings).up(tell)
    console.print(
        f"The local cloud is up: AWS at {settings.endpoint}, Nessie at {settings.nessie}, Slack at {settings.slack}"
    )
    if told := elsewhere(settings):
        console.print(told, soft_wrap=True)
    console.print(
        "It forgets everything when it stops. Next, with a file of yours: [bold]lakegate contract init FILE --output "
        "CONTRACT[/], then [bold]lakegate contract push CONTRACT[/] and [bold]lakegate drop FILE --wait[/]"
    )


def elsewhere(settings: LocalSettings, of: Home = HOME) -> str:
    """Return how commands find the cloud from other folders; nothing if they do so by themselves."""
    if settings.profile == of.profile and not of.is_checkout:
        return ""
    at = shlex.quote(str(settings.profile))
    own = (
        f"Commands find it in {escape(str(settings.profile.parent))}. "
        if settings.profile.name == of.profile.name
        else ""
    )
    return f"{own}In a shell of any other folder: [bold]export LAKEGATE_ENV_FILE={escape(at)}[/]"


@app.command()
def down() -> None:
    """Stop everything that `up` started, and remove its data."""
    with progress() as tell:
        Cloud(settings=LocalSettings.from_env()).down(tell)
    console.print("The local cloud is down.")


@app.command()
def slack(*, as_json: Annotated[bool, typer.Option("--json", help="Print the messages as JSON.")] = False) -> None:
    """Print the messages sent to the Slack stand-in, oldest first."""
    messages = read(LocalSettings.from_env().messages)
    if as_json:
        typer.echo(json.dumps(messages, indent=2, ensure_ascii=False))
        return
    for message in messages:
        console.print(rendered(message))
    if not messages:
        console.print("No messages so far.")


@contextmanager
def progress() -> Iterator[Callable[[str, str], None]]:
    """Yield a function that shows one line for each part of the cloud, with the time it has taken."""
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description:12}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[phrase]}"),
    )
    with Progress(*columns, console=console) as bars:
        lines: dict[str, TaskID] = {}

        def tell(part: str, phrase: str) -> None:
            if part not in lines:
                lines[part] = bars.add_task(part, total=1, phrase=phrase)
            is_done = phrase.startswith(("running", "stopped", "removed", "deployed", "was not"))
            bars.update(lines[part], phrase=phrase, completed=int(is_done))

        yield tell
