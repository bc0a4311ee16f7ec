"""`lakegate`: the commands with their help; errors end here. Each command's work is in a module of its own, imported
when the command is called, so that help is quick.
"""

# ruff: noqa: PLC0415

import os
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points, version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from lakegate.errors import Misconfigured

EXITS = (
    "Exit codes: 0 done · 1 a file was rejected, a contract has faults, or a step is forbidden · "
    "2 the command or the settings must change · 3 something does not answer or is not finished."
)


OFFLINE = frozenset(  # they ask no installation
    {"check", "contract", "demo", "deploy", "generate", "init", "local", "package", "try"}
)


class Asking(TyperGroup):
    """Commands, of which those that ask an installation take its name."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        return command if command is None or cmd_name in OFFLINE else _take_installation(command)


def _choose(name: str) -> None:
    if name:
        from lakegate.settings import choose_installation

        choose_installation(name)


def _option_of_installation(
    installation: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The installation, by its name or the settings file it was deployed from.",
            callback=_choose,
            expose_value=False,
        ),
    ] = "",
) -> None:
    """Declare the option that commands take in `_take_installation`."""


def _take_installation(command: Any) -> Any:
    """Give a command the option, once: its parameters stay with the command."""
    if all(param.name != "installation" for param in command.params):
        declaration = typer.Typer(add_completion=False)
        declaration.command()(_option_of_installation)
        command.params += typer.main.get_command(declaration).params
    return command


class Commands(Asking):
    """Commands of this package, and those that others add through the entry points `lakegate.commands`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(dict.fromkeys([*super().list_commands(ctx), *sorted(_plugins())]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        plugin = _plugins().get(cmd_name)
        return super().get_command(ctx, cmd_name) if plugin is None else _take_installation(_load(plugin))

    def invoke(self, ctx: Any) -> Any:
        try:
            return self._invoke(ctx)
        except BrokenPipeError as error:
            raise typer.Exit(_nobody_reads()) from error
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise
        except Exception as error:  # noqa: BLE001 - the process's edge
            _end(error)

    def _invoke(self, ctx: Any) -> Any:
        """Run the command and flush its output: a write error after that would have no exit code of ours."""
        try:
            return super().invoke(ctx)
        finally:
            sys.stdout.flush()


def _nobody_reads() -> int:
    """Return the code for a closed output, as in `lakegate … | head`: it is no fault, and buffered output goes."""
    from lakegate.cli.exits import Exit

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.UNREAD


@cache
def _plugins() -> dict[str, EntryPoint]:
    """Return the commands that others add. Entry points are looked for in every installed package."""
    return {entry.name: entry for entry in entry_points(group="lakegate.commands")}


def _load(entry: EntryPoint) -> Any:
    command = typer.main.get_command(entry.load())
    command.name = entry.name
    return command


def _end(error: Exception) -> NoReturn:
    """End with a paragraph and an exit code instead of a traceback."""
    from lakegate.cli.exits import exit_code, paragraph
    from lakegate.cli.terminal import complain
    from lakegate.settings import CommandLine

    if CommandLine.from_env().debug:
        import traceback

        traceback.print_exception(error)
    complain(paragraph(error))
    raise typer.Exit(exit_code(error)) from error


app = typer.Typer(
    cls=Commands,
    name="lakegate",
    help="Drop a file in a bucket; it reaches the lake only if it passes its contract.\n\n" + EXITS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
contract = typer.Typer(cls=Asking, help="Infer, check, push, list and delete data contracts.", no_args_is_help=True)
app.add_typer(contract, name="contract")
# An installed lakegate has these alone. Its home and a checkout have the local cloud's own (Commands).
local = typer.Typer(help="Start and stop a local cloud, in a home that is set up for it first.", no_args_is_help=True)
app.add_typer(local, name="local")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True)]
Contracts = Annotated[list[Path], typer.Argument(metavar="CONTRACT", exists=True, dir_okay=False, readable=True)]
Batch = Annotated[str, typer.Argument(metavar="BATCH", help="A batch's id, which status and Slack print.")]
FileKeys = Annotated[
    list[str] | None,
    typer.Option("--file", metavar="KEY", help="A rejected file's landing key, and no other file; may be given again."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before several files are decided.")]
Reason = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, kept in main's log with your name.")]
Batches = Annotated[list[str], typer.Argument(metavar="BATCH", help="Batches' ids, which status and Slack print.")]


def _installation(ctx: typer.Context) -> Any:
    """Return this run's installation: a test's own, or the one that the AWS configuration leads to."""
    from lakegate.cli.installation import quiet_logs

    quiet_logs()
    if ctx.obj is None:
        from lakegate.cli.profile import connect
        from lakegate.cli.terminal import busy

        with busy("connecting"):
            ctx.obj = connect()
    return ctx.obj


def _show_version(is_given: bool) -> None:  # noqa: FBT001
    if is_given:
        typer.echo(f"lakegate {version('lakegate')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@contract.command("check")
def contract_check(files: Contracts, *, as_json: AsJson = False) -> None:
    """Judge contracts, each alone and all together, and name every fault by its line. Needs no installation."""
    from lakegate.cli import contracts
    from lakegate.cli.installation import quiet_logs

    quiet_logs()
    raise typer.Exit(contracts.check(files, as_json=as_json))


@contract.command("init")
def contract_init(
    files: Files,
    *,
    table: Annotated[
        str, typer.Option(metavar="NAMESPACE.TABLE", help="The table; by default its name is that of the first file.")
    ] = "",
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="The files' format, if neither bytes nor name show it.")
    ] = "",
    freshness: Annotated[
        str, typer.Option(metavar="COLUMN=DAYS", help="A column whose newest value is at most so many days old.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="A new file to write to, instead of printing.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Infer a contract from sample files of one table, which pass it. Needs no installation. Exit 1, with the reason,
    if no contract can be made that they pass.
    """
    from lakegate.cli.init import init
    from lakegate.cli.installation import quiet_logs

    quiet_logs()
    raise typer.Exit(init(files, table, form, freshness, output, as_json=as_json))


@app.command("try")
def try_(
    words: Annotated[
        list[str], typer.Argument(metavar="FILE… CONTRACT", help="Files of one table, then its contract.")
    ],
    *,
    every_check: Annotated[
        bool, typer.Option("--all", help="List every file, and the checks that passed, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Audit files of this machine by a contract: verdicts, reasons and failing rows, as the service would have them.
    Needs no installation, and changes nothing. Exit 1 if a file would be rejected, 2 if nothing could be judged.
    """
    from lakegate.cli.installation import quiet_logs
    from lakegate.cli.trial import try_ as run

    quiet_logs()
    raise typer.Exit(run(words, every_check=every_check, as_json=as_json))


@contract.command("push")
def contract_push(ctx: typer.Context, files: Contracts, *, as_json: AsJson = False) -> None:
    """Push contracts: all, or none if one has a fault. Unrouted files that they route are ingested then."""
    from lakegate.cli import contracts

    raise typer.Exit(contracts.push(_installation(ctx), files, as_json=as_json))


Table = Annotated[str, typer.Argument(metavar="NAMESPACE.TABLE", help="The contract's table.")]


@contract.command("list")
def contract_list(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """List the pushed contracts: each table with its route, or why its contract does not load."""
    from lakegate.cli import registry

    raise typer.Exit(registry.list_contracts(_installation(ctx), as_json=as_json))


@contract.command("show")
def contract_show(ctx: typer.Context, table: Table, *, as_json: AsJson = False) -> None:
    """Print a table's contract, as it was pushed."""
    from lakegate.cli import registry

    raise typer.Exit(registry.show(_installation(ctx), table, as_json=as_json))


@contract.command("delete")
def contract_delete(
    ctx: typer.Context,
    table: Table,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a table's contract, after it said what becomes of its files. The table and its rows stay. Exit 1, and
    delete nothing, while files of it are in flight.
    """
    from lakegate.cli import registry

    raise typer.Exit(registry.delete(_installation(ctx), table, yes=yes, as_json=as_json))


@app.command()
def drop(
    ctx: typer.Context,
    files: Files,
    *,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="The files' table. Its contract says where they go.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="A folder of the landing bucket, such as nyc/flights/.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each file is decided or unrouted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Upload files to the landing bucket. Without --table and --to, the one contract with a matching route says where.
    With --wait, exit 1 if a file was rejected.
    """
    from lakegate.cli.files import drop as run

    raise typer.Exit(run(_installation(ctx), files, table, to, wait=wait, as_json=as_json))


@app.command()
def wait(
    ctx: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="BATCH|KEY", help="Batches or landing keys; without any, all files in flight."),
    ] = None,
    *,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Give up after this many seconds, with exit code 3.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Wait until these files, or all that have landed, are decided or unrouted. Exit 1 if a file was rejected."""
    from lakegate.cli.files import wait as run

    raise typer.Exit(run(_installation(ctx), targets or [], timeout, as_json=as_json))


@app.command()
def status(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Show the files that are in flight, unrouted, rejected and published."""
    from lakegate.cli import batches

    raise typer.Exit(batches.status(_installation(ctx), as_json=as_json))


@app.command()
def show(
    ctx: typer.Context,
    batch: Batch,
    *,
    every_check: Annotated[
        bool, typer.Option("--all", help="List every file, and the checks that passed, too.")
    ] = False,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="CHECK", help="List all rows that fail a check, by its id or name.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", dir_okay=False, help="Write the report as one page; - prints it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a batch's reports: each file's verdict, each check's numbers, failing rows, and the decisions."""
    if html is not None and (rows is not None or as_json):
        raise Misconfigured("--html writes the whole report as a page: leave out --rows and --json, or --html")
    if rows is not None:
        from lakegate.cli.rows import show_rows

        raise typer.Exit(show_rows(_installation(ctx), batch, rows, as_json=as_json))
    if html is not None:
        from lakegate.cli.page.document import write

        raise typer.Exit(write(_installation(ctx), batch, html))
    from lakegate.cli.show import show as run

    raise typer.Exit(run(_installation(ctx), batch, every_check=every_check, as_json=as_json))


@app.command()
def retry(ctx: typer.Context, batches: Batches, *, file: FileKeys = None, as_json: AsJson = False) -> None:
    """Try batches' rejected files again, with the present contract, on new branches."""
    from lakegate.cli.retry import retry as run

    raise typer.Exit(run(_installation(ctx), batches, file or (), as_json=as_json))


@app.command()
def approve(
    ctx: typer.Context,
    batch: Batch,
    *,
    reason: Reason,
    file: FileKeys = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Publish a batch's rejected files in spite of their audit, exactly as they were audited: all, or each --file."""
    from lakegate.cli import batches

    raise typer.Exit(batches.approve(_installation(ctx), batch, reason, file or (), yes=yes, as_json=as_json))


@app.command()
def discard(
    ctx: typer.Context,
    batch: Batch,
    *,
    reason: Reason,
    file: FileKeys = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give up a batch's rejected files for good, all or each --file, and delete the branches that keep no other."""
    from lakegate.cli import batches

    raise typer.Exit(batches.discard(_installation(ctx), batch, reason, file or (), yes=yes, as_json=as_json))


@app.command()
def query(
    ctx: typer.Context,
    sql: Annotated[str, typer.Argument(metavar="SQL", help='A statement, such as "SELECT count(*) FROM nyc.flights".')],
    *,
    ref: Annotated[str, typer.Option(metavar="BRANCH", help="A branch, or branch@hash.")] = "main",
    as_json: AsJson = False,
) -> None:
    """Query the lake in DuckDB's SQL, which may only read: SELECT, WITH, FROM, DESCRIBE, SUMMARIZE."""
    from lakegate.cli.query import query as run

    run(_installation(ctx), sql, ref, as_json=as_json)


@app.command()
def readers(
    ctx: typer.Context,
    *,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="ENGINE", help="One engine, such as spark; by default all.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAMESPACE.TABLE", help="The table; by default the branch's, or the first."),
    ] = None,
    ref: Annotated[str, typer.Option(metavar="BRANCH", help="A branch, or branch@hash.")] = "main",
    as_json: AsJson = False,
) -> None:
    """Print what to paste into another engine to read a table of this installation: PyIceberg, Pandas, Polars, DuckDB,
    Spark, Trino, Snowflake, Athena, Redshift, Dremio.
    """
    from lakegate.cli.readers.command import readers as run

    run(_installation(ctx), engine, table, ref, as_json=as_json)


@app.command()
def generate(
    contract: Annotated[Path, typer.Argument(metavar="CONTRACT", exists=True, dir_okay=False, readable=True)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.", dir_okay=False, writable=True)],
    *,
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=0, help="The number of rows.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed makes the same rows.")] = 1,
    fault: Annotated[
        str | None,
        typer.Option(
            metavar="CHECK",
            help="The check that the file fails: by a null, a value out of range, of no such pattern, not in the enum, "
            "or a repeated key.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make up a file for a contract, by its types, ranges, enums, patterns and keys: a good one, or one with a fault.
    Needs no installation.
    """
    from lakegate.cli.generate import generate as run
    from lakegate.cli.installation import quiet_logs

    quiet_logs()
    raise typer.Exit(run(contract, target, rows, seed, fault, as_json=as_json))


@app.command()
def reconcile(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Run the scheduled sweep now: it finishes what a lost event or a crash left undone."""
    from lakegate.cli import batches

    raise typer.Exit(batches.reconcile(_installation(ctx), as_json=as_json))


@app.command()
def clean(
    ctx: typer.Context,
    *,
    days: Annotated[
        int, typer.Option(metavar="N", min=1, help="Keep all that main needed in the last so many days.")
    ] = 30,
    folder: Annotated[
        list[str] | None,
        typer.Option(metavar="FOLDER", help="A table's folder that the catalog does not know and nothing uses."),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete what a run a week ago has found, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the lake's files that nothing needs. Without --delete, nothing is deleted and the files are recorded."""
    from lakegate.cli.clean import clean as run

    raise typer.Exit(run(_installation(ctx), days, folder or [], delete=delete, as_json=as_json))


@app.command()
def verify(ctx: typer.Context, *, as_json: AsJson = False) -> None:
    """Compare the catalog with both buckets, as after a restore: each line is ok, or what is wrong and what to run. It
    changes nothing. Exit 1 if something is wrong.
    """
    from lakegate.cli.verify import verify as run

    raise typer.Exit(run(_installation(ctx), as_json=as_json))


@app.command()
def deploy(
    settings: Annotated[
        Path, typer.Argument(metavar="SETTINGS", exists=True, dir_okay=False, help="An environment's TOML file.")
    ],
    *,
    accept: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A setting whose change is meant; may be given again.")
    ] = None,
    probe: Annotated[
        bool, typer.Option(help="Run a small Spark job, as doctor --probe does, and land a canary.")
    ] = True,
    check: Annotated[
        bool, typer.Option("--check", help="Look whether it could be deployed, and make nothing. It costs nothing.")
    ] = False,
) -> None:
    """Deploy an environment's settings to AWS, and examine the installation. Refuse (exit 1) to drop or change a
    deployed setting unless --accept names it. Where AWS asks that no job runs, files wait until it is over.
    """
    from lakegate.cli import home_commands
    from lakegate.cli.deploy import config_of_file
    from lakegate.cli.deploy import deploy as run

    home_commands.deploy(lambda: config_of_file(settings), *sys.argv[1:])
    raise typer.Exit(run(settings, accept or [], probe=probe, check=check))


@app.command()
def package(
    settings: Annotated[
        Path, typer.Argument(metavar="SETTINGS", exists=True, dir_okay=False, help="An environment's TOML file.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", file_okay=False, help="A folder that is new or empty.")],
) -> None:
    """Write an environment's templates and assets for a bucket of your own, and a Terraform module that deploys them.
    They need no bootstrap by CDK. Needs no installation, and deploys nothing.
    """
    from lakegate.cli import home_commands
    from lakegate.cli.package import config_to_package
    from lakegate.cli.package import package as run

    home_commands.deploy(lambda: config_to_package(settings), *sys.argv[1:])
    run(settings, folder)


@app.command()
def hold(command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="As in: -- terraform apply")]) -> None:
    """Run a command that changes the stacks while nothing begins a job and none runs. Files wait meanwhile, and are
    taken up at its end, also where it fails. Exit as the command does.
    """
    from lakegate.cli.hold import hold as run

    raise typer.Exit(run(command))


@app.command()
def demo() -> None:
    """Show the whole loop on a local cloud: a year of flights on main, and a doctored month on its branch. Sets up what
    it needs first, in the user's cache, or in a checkout by `make setup`.
    """
    from lakegate.cli import home_commands

    home_commands.demo()


@local.command("up")
def local_up() -> None:
    """Start a local cloud and deploy lakegate to it. Sets up what it needs first, in the user's cache."""
    from lakegate.cli import home_commands

    home_commands.local("up")


@local.command("down")
def local_down() -> None:
    """Stop the local cloud, and remove its data. What was set up stays."""
    from lakegate.cli import home_commands

    home_commands.local("down")


@local.command("slack")
def local_slack(*, as_json: AsJson = False) -> None:
    """Print the messages that were sent to the local cloud's stand-in for Slack, oldest first."""
    from lakegate.cli import home_commands

    home_commands.local("slack", *(["--json"] if as_json else []))


@app.command()
def doctor(
    *,
    probe: Annotated[
        bool, typer.Option("--probe", help="Run a small Spark job that looks at where it runs; takes a few minutes.")
    ] = False,
    message: Annotated[
        bool, typer.Option("--message", help="Send a message to the Slack channel, which alone shows that it works.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Examine an installation: each line is ok, or what is wrong and what to run. Exit 1 if something is wrong."""
    from lakegate.cli.doctor import doctor as run

    raise typer.Exit(run(probe=probe, message=message, as_json=as_json))


def main() -> None:
    """Run the command line. Escape the characters that a terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="lakegate")
