"""`dashboard`: the command. It is added by an entry point, so that the command line imports none of this room."""

# ruff: noqa: PLC0415

from importlib.util import find_spec
from typing import Annotated

import typer

from lakegate.errors import Misconfigured

PORT = 8501
app = typer.Typer(add_completion=False)


@app.command()
def dashboard(
    *, port: Annotated[int, typer.Option(metavar="PORT", min=1024, max=65535, help="The port to listen at.")] = PORT
) -> None:
    """Show the installation in a browser of this machine: what waits and why, each batch with its checks and rows, the
    tables' past. Whoever opens the printed address has your rights. Ctrl-C ends it.
    """
    if find_spec("streamlit") is None:
        raise Misconfigured('the dashboard needs more packages; run: pip install "lakegate[dashboard]"')
    from lakegate.dashboard.serving import serve

    serve(port)
