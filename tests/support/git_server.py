"""Serves git repositories over HTTP, so that controllers in a cluster can read what a test pushes."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.history import commit, git


class _Handler(BaseHTTPRequestHandler):
    """Passes each request to ``git http-backend``, git's own CGI program."""

    folder: Path

    def answer(self) -> None:
        address = urlsplit(self.path)
        variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": address.path,
            "QUERY_STRING": address.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=self._body(), env=variables, capture_output=True, check=True, timeout=60
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(lines.pop("Status", "200").split()[0]))
        for name, value in lines.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    do_GET = do_POST = answer  # noqa: N815 - the names of http.server

    def log_message(self, format: str, *arguments: object) -> None:
        """Stays silent."""


class Remote:
    """A bare repository that a server offers, and its working tree."""

    def __init__(self, root: Path, bare: Path, url: str) -> None:
        self.root, self.url = root, url
        git(bare.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
        commit(root)
        git(root, "remote", "add", "origin", url)
        git(root, "remote", "set-url", "--push", "origin", str(bare))

    def push(self) -> str:
        """Commits and pushes all files of the working tree, and returns the revision."""
        commit(self.root)
        git(self.root, "push", "--quiet", "origin", "main")
        return git(self.root, "rev-parse", "HEAD")


class GitServer:
    """A server of bare repositories in a folder."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        handler = type("Handler", (_Handler,), {"folder": folder})
        self._server = ThreadingHTTPServer((address, 0), handler)
        self._url = f"http://{address}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def offer(self, root: Path) -> Remote:
        """Offers the repository at ``root`` under a new address."""
        name = f"{len(list(self.folder.iterdir()))}.git"
        return Remote(root, self.folder / name, f"{self._url}/{name}")


@contextlib.contextmanager
def git_server(folder: Path, address: str) -> Iterator[GitServer]:
    """Serves repositories at an address of this machine until the block ends."""
    server = GitServer(folder, address)
    try:
        yield server
    finally:
        server.close()
