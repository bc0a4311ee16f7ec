"""docs/reference/cli.md: every command with its arguments and options, from the command line's own parser.

`python -m tests.support.commands` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from lakegate.cli.app import EXITS, app

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"
HEAD = f"""# Commands

`lakegate COMMAND --help` prints the same in a terminal.

- {EXITS.replace(" · ", ", ")} Besides: 130 after Ctrl-C, 141 where nobody reads the output any more, 70 for a fault in lakegate itself.
- **`--json`** prints JSON on standard output, and nothing else. What is for people goes to standard error.
- **Which installation** a command means is said by `--installation NAME`, or the path of its settings file in the place of the name; without it, by `LAKEGATE_INSTALLATION=NAME` in a file `.lakegate.env` in the working directory, or in the file that `LAKEGATE_ENV_FILE` names; else it is `lakegate`. Account and region are those of the AWS command (`AWS_PROFILE`, `AWS_REGION` and the others), over which `.lakegate.env` has precedence.
- **Completion**: `lakegate --install-completion` teaches it to your shell (Bash, Zsh, Fish, PowerShell).
- **The local cloud** is such an installation: `lakegate local up` writes its `.lakegate.env`, and `lakegate local down` removes it. An installed lakegate finds it from any folder. That of a checkout is found in the checkout alone; elsewhere set `LAKEGATE_ENV_FILE` to the path of its `.lakegate.env`, in the line that `local up` prints.
- **Rights**: [Let people use the command line](../how-to/identities.md#people-who-use-the-command-line).

`make reference` writes this page from the code.
"""  # noqa: E501 - a line of the page


def commands(group: Any = None, path: str = "lakegate") -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, with its whole name."""
    group = group or get_command(app)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def page() -> str:
    return "\n".join([HEAD, *(_command(name, command) for name, command in commands())])


def _command(name: str, command: Any) -> str:
    words = [word for param in command.params for word in [_usage(param)] if word]
    rows = [f"| `{_name(param)}` | {_told(param)} |" for param in command.params]
    table = ["| | |", "|---|---|", *rows, ""] if rows else []
    return "\n".join(
        [f"## {name}", "", " ".join(command.help.split()), "", "```text", " ".join([name, *words]), "```", "", *table]
    )


def is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def takes_value(param: Any) -> bool:
    return not is_argument(param) and not param.is_flag


def _name(param: Any) -> str:
    if is_argument(param):
        return _many(param)
    flags = ", ".join([*param.opts, *param.secondary_opts])
    return f"{flags} {param.metavar}" if takes_value(param) else flags


def _many(param: Any) -> str:
    several = param.nargs != 1 and "…" not in param.metavar  # which says it itself
    return f"{param.metavar}…" if several else str(param.metavar)


def _usage(param: Any) -> str:
    word = _many(param) if is_argument(param) else f"{param.opts[0]} {param.metavar}" if takes_value(param) else ""
    word = word or param.opts[0]
    return word if param.required else f"[{word}]"


def _told(param: Any) -> str:
    said = (param.help or "").replace("|", "\\|")
    default = param.default if takes_value(param) and param.default not in (None, "", []) else None
    return said if default is None else f"{said} By default {default}."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
