"""``kubectl tas lsp``: runs the language server."""

from __future__ import annotations

import gc
import os
import sys

import click

from kubectl_tas.diagnostics import TasError


@click.command(epilog="Example: kubectl tas lsp")
def lsp() -> None:
    """Serve editors by the Language Server Protocol, on standard input and output.

    docs/editors.md says how to set up an editor.
    """
    try:
        from kubectl_tas.editor.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        hint = "Install it: pip install 'kubectl-tas[lsp]'"
        raise TasError(f"the language server needs the package {error.name}", hint=hint) from error
    gc.enable()  # a server lives as long as its editor
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")  # the server closes it
    make_server().start_io(sys.stdin.buffer, output)
