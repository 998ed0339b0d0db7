"""``kubectl tas doctor``: looks at kubectl, the clusters and the repository, and says what to mend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any

import click

from kubectl_tas.base.diagnostics import Severity, TasError, has_errors
from kubectl_tas.cli.backends import backend_option, chosen_backends
from kubectl_tas.cli.options import kubectl_options, output_option, repository_option, together
from kubectl_tas.cli.session import open_session
from kubectl_tas.cli.terminal import hand_over, say, waiting
from kubectl_tas.imports.examination import OK, PROBLEM, UNKNOWN, Check, Checks, examined_checkout, examined_cluster
from kubectl_tas.live.kubectl import ClusterAccess, get, told
from kubectl_tas.report import json as report
from kubectl_tas.resolve.clusters import FleetBackend

_NAMESPACED = ("deployments.apps",)


@click.command(epilog="Example: kubectl tas doctor -o json")
@output_option("text", "json")
@together(kubectl_options("The context for kubectl, instead of the backend's."), backend_option("Ask this cluster."))
@repository_option
def doctor(output: str, context: str | None, kubeconfig: str | None, backend: str | None, directory: str | None) -> int:
    """Look at kubectl, the clusters and the repository, and say what to mend.

    It asks each cluster for the CRDs and releases of KAI and Grove, queues, shards, webhooks, labels of nodes and the
    guard. In the repository it looks at git, hooks, CI and the lock of the tool. It says what it could not ask. Exits 1
    if it finds a problem.
    """
    session = open_session(directory)
    meant = chosen_backends(session.fleet, backend)
    if context and len(meant) > 1:
        raise click.UsageError("--context names one cluster; name its backend too: --backend NAME")
    checks = [*examined_checkout(session.root, session.fleet), *_of_files(session)]
    accesses = {item.name: ClusterAccess(context or item.spec.context, kubeconfig, watch=waiting) for item in meant}
    program = list(_of_kubectl(ClusterAccess(None, kubeconfig), meant, context))
    checks += program
    if not any(check.about == "kubectl" and check.state == PROBLEM for check in program):
        for item in meant:
            ask = partial(_listed, accesses[item.name])
            checks += examined_cluster(session.fleet, item, ask, has_errors=has_errors(session.diagnostics))
    if output == "json":
        hand_over(report.render(Checks(checks)))
    else:
        _show(checks)
    return int(any(check.state == PROBLEM for check in checks))


def _listed(access: ClusterAccess, resource: str) -> list[dict[str, Any]]:
    return get(access, resource, namespaced=resource in _NAMESPACED)


def _of_files(session: Any) -> Iterator[Check]:
    errors = sum(item.severity is Severity.ERROR for item in session.diagnostics)
    if errors:
        what = "error" if errors == 1 else "errors"
        yield Check("repository", "files", PROBLEM, f"the files have {errors} {what}", "Run: kubectl tas validate.")
    else:
        yield Check("repository", "files", OK, "validate finds no error")


def _of_kubectl(access: ClusterAccess, meant: tuple[FleetBackend, ...], context: str | None) -> Iterator[Check]:
    """Yields the checks of kubectl itself and of its contexts."""
    subject = "kubectl"
    try:
        text, _ = told(access, "version", "--client", "-o", "json")
        version = json.loads(text)["clientVersion"]["gitVersion"]
        yield Check(subject, "kubectl", OK, f"kubectl is {version}")
        names, problem = told(access, "config", "get-contexts", "-o", "name")
    except TasError as error:
        yield Check(subject, "kubectl", PROBLEM, error.message, error.hint or "Install kubectl.")
        return
    except (ValueError, KeyError, TypeError):
        todo = "Look at what `kubectl version --client -o json` prints; KUBECTL_PATH names another kubectl."
        yield Check(subject, "kubectl", UNKNOWN, "kubectl does not tell its version", todo)
        names, problem = told(access, "config", "get-contexts", "-o", "name")
    known = names.split()
    if problem or not known:
        todo = "Name a kubeconfig: --kubeconfig FILE, or KUBECONFIG."
        yield Check(subject, "contexts", UNKNOWN, problem or "the kubeconfig has no context", todo)
        return
    for item in meant:
        wanted = context or item.spec.context
        if wanted is None:
            todo = f"Add context: to the backend {item.name} in tas.yaml." if len(meant) > 1 else ""
            yield Check(subject, "contexts", OK, f"backend {item.name} takes the current context", todo)
        elif wanted in known:
            yield Check(subject, "contexts", OK, f"backend {item.name} has the context {wanted}")
        else:
            todo = "Correct context: of the backend in tas.yaml, or add it to the kubeconfig."
            message = f"the context {wanted} of backend {item.name} is not in the kubeconfig"
            yield Check(subject, "contexts", PROBLEM, message, todo)


def _show(checks: list[Check]) -> None:
    for subject, group in groupby(checks, key=lambda check: check.subject):
        say(subject)
        for check in group:
            say(f"  {check.state:<8}{check.about}: {check.message}")
            if check.todo:
                say(f"          {check.todo}")
    problems = sum(check.state == PROBLEM for check in checks)
    unknown = sum(check.state == UNKNOWN for check in checks)
    rest = f", {unknown} could not be asked" if unknown else ""
    say(f"{problems} {'problem' if problems == 1 else 'problems'}{rest}.")
