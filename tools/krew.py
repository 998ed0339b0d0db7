"""Makes the plugin manifest for krew's index: ``python -m tools.krew --url URL --homepage URL ARCHIVE...``

https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from kubectl_tas import __version__
from kubectl_tas.base.yaml import block

_DESCRIPTION = """\
Reads pools with guaranteed GPUs, topologies of racks and zones, and workflows
and workloads with the placement they need from a git repository; checks them
against each other; writes the manifests of KAI Scheduler for Argo CD or Flux.
"""


def manifest(archives: list[Path], url: str, homepage: str) -> str:
    """Returns the manifest for archives named ``kubectl-tas-OS-ARCH.tar.gz`` that will be published at ``url``."""
    platforms = []
    for path in sorted(archives):
        system, architecture = path.name.removeprefix("kubectl-tas-").removesuffix(".tar.gz").split("-")
        platforms.append(
            {
                "selector": {"matchLabels": {"os": system, "arch": architecture}},
                "uri": f"{url.rstrip('/')}/{path.name}",
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "bin": "kubectl-tas",
            }
        )
    return block(
        {
            "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
            "kind": "Plugin",
            "metadata": {"name": "tas"},
            "spec": {
                "version": f"v{__version__}",
                "homepage": homepage,
                "shortDescription": "Compile GPU pools and workflows for KAI",
                "description": _DESCRIPTION,
                "platforms": platforms,
            },
        }
    )


def main() -> int:
    """Prints the manifest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="the folder from which the archives are downloaded")
    parser.add_argument("--homepage", required=True, help="where the project is at home")
    parser.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE", help="what tools.freeze has made")
    given = parser.parse_args()
    print(manifest(given.archives, given.url, given.homepage), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
