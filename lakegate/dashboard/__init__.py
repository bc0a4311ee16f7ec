"""Dashboard: what the command line knows of an installation, in a browser of the person's own machine.

Begin with `command`, which is `lakegate dashboard`. `serving` starts Streamlit behind the `door`, which lets in whoever
has the address that was printed. Streamlit runs `main` for each look, and `main` one of the `pages`. `session` is what
they ask the installation, by the operations of the command line and with the rights of whoever started it.

Pages ask and show, and judge nothing. Strangers' text reaches a browser by `markup` alone, which escapes it: never by
Streamlit's own texts and labels, which are Markdown. Nothing imports this room.
"""
