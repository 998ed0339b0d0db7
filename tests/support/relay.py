"""Has the process at the socket of the first argument run the tool with the others, on our standard streams."""

import os
import signal
import socket
import sys

link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
told = repr((sys.argv[2:], os.getcwd(), dict(os.environ))).encode("utf-8", "surrogateescape")  # noqa: PTH109 - pathlib is slow to import
socket.send_fds(link, [b"%16d" % len(told)], [0, 1, 2])
link.sendall(told)
child = int(link.recv(16))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(child, number))
code = int(link.recv(16))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
