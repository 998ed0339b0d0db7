"""Names of resources that an API server refuses, or that KAI counts no GPU for, word by word."""

from __future__ import annotations

import pytest

from tests.support.judged import told_of

OWN = "a name without a domain must be one of Kubernetes' own"
NONE = "Kubernetes has no resource of that name"
SPELLED = "it must be DOMAIN/NAME"
ASKED = 'its domain must not begin with "requests."'
KNOWN = "Known: cpu, ephemeral-storage, memory and nvidia.com/gpu."


def asking(resource: str) -> str:
    """A Job whose container asks for one of a resource, in line 4."""
    pods = f"containers: [{{name: m, image: i, resources: {{limits: {{{resource}: 1}}}}}}]"
    spec = f"{{template: {{spec: {{restartPolicy: Never, {pods}}}}}}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, labels: {{kubectl-tas/pool: team}}}}\nspec: {spec}\n"


@pytest.mark.parametrize(
    ("name", "why", "hint"),
    [
        ("kubernetes.io/foo", NONE, KNOWN),
        ("batch.kubernetes.io/foo", NONE, KNOWN),
        ("requests.nvidia.com/gpu", ASKED, "Did you mean nvidia.com/gpu?"),
        ("requests.example.com/fpga", ASKED, KNOWN),
        ("CPU", OWN, "Did you mean cpu?"),
        ("cpus", OWN, "Did you mean cpu?"),
        ("Memory", OWN, "Did you mean memory?"),
        ("gpu", OWN, "Did you mean nvidia.com/gpu?"),
        ("my-gpu-x", OWN, "Did you mean nvidia.com/gpu?"),
        ("my-amd-gpu-x", OWN, "Did you mean amd.com/gpu?"),
        ("kubernetes.io/amd-gpu", NONE, "Did you mean amd.com/gpu?"),
        ("a/b/c", SPELLED, KNOWN),
        ("/gpu", SPELLED, "Did you mean nvidia.com/gpu?"),
        ("nvidiagpu", OWN, "Did you mean nvidia.com/gpu?"),
        ("gpu-nvidia", OWN, "Did you mean nvidia.com/gpu?"),
        ("amdgpus", OWN, "Did you mean amd.com/gpu?"),
        ("cpuu", OWN, "Did you mean cpu?"),
        ("pods", OWN, KNOWN),
        ("ephemeral_storage", OWN, "Did you mean ephemeral-storage?"),
    ],
)
def test_a_name_that_an_api_server_refuses(name: str, why: str, hint: str) -> None:
    assert told_of(asking(name)) == [f'w.yaml:4:102 resource-name: "{name}" is no resource: {why} ({hint})']


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nvidia.com/mig-1g5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/migs", "nvidia.com/mig-1g.6gb"),
        ("nvidia/gpu", "nvidia.com/gpu"),
        ("nvidia.io/gpu", "nvidia.com/gpu"),
        ("amd.io/gpu", "amd.com/gpu"),
        ("nvdia.com/gpu", "nvidia.com/gpu"),
    ],
)
def test_a_name_that_kai_does_not_count(name: str, meant: str) -> None:
    assert told_of(asking(name)) == [f'w.yaml:4:102 gpu-name: KAI counts no GPU for "{name}" (Did you mean {meant}?)']
