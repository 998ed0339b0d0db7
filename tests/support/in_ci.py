"""Says whether CI runs the tests: they may then install what a developer's machine may lack."""

import os

IN_CI = bool(os.environ.get("CI"))
