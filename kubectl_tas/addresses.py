"""Addresses of networks as Kubernetes reads them. Follows ``ParseIPSloppy`` and ``ParseCIDRSloppy`` of
k8s.io/utils/net, which Kubernetes 1.33 calls (pkg/apis/core/validation, networking/validation): numbers may have zeros
in front, and an address may have more bits than its prefix leaves.
"""

from __future__ import annotations

import re
from typing import Any

from kubectl_tas.late import imported

NO_ADDRESS = "None"
"""The clusterIP of a headless Service."""
_ZEROS = r"\b0+(?=[0-9])"


def address(text: str) -> Any:
    """An IPv4Address or an IPv6Address; None for any other text."""
    return None if "/" in text or "%" in text else _read("ip_address", text)


def network(text: str) -> Any:
    """The IPv4Network or IPv6Network of an address and a prefix, such as 10.0.0.0/8; None for any other text."""
    host, _, bits = text.partition("/")
    if "%" in host or not re.fullmatch("[0-9]{1,3}", bits):
        return None
    return _read("ip_network", text, strict=False)


def _read(name: str, text: str, **options: bool) -> Any:
    try:
        return imported(f"ipaddress:{name}")(text if ":" in text else re.sub(_ZEROS, "", text), **options)
    except ValueError:
        return None


def refused(text: str) -> tuple[str, str] | None:
    """Why an API server refuses an address, and what to write instead; None where it does not."""
    if address(text) is None:
        return "must be an IP address", "Write one such as 10.0.0.1 or 2001:db8::1."
    return None


def cluster_refused(text: str) -> tuple[str, str] | None:
    """The same of a clusterIP."""
    if text in ("", NO_ADDRESS):
        return None
    if text.casefold() == NO_ADDRESS.casefold():
        return f"must be an IP address or {NO_ADDRESS}", f"Write {NO_ADDRESS}."
    return refused(text)


def external_refused(text: str) -> tuple[str, str] | None:
    """The same of an external address of a Service: ``ValidateNonSpecialIP``."""
    found = address(text)
    if found is None:
        return refused(text)
    kinds = {
        "unspecified": found.is_unspecified,
        "loopback": found.is_loopback,
        "link-local": found.is_link_local or (found.is_multicast and found in network(_LOCAL[found.version])),
    }
    kind = next((name for name, is_one in kinds.items() if is_one), None)
    return None if kind is None else (f"must not be a {kind} address", "Write an address that others can reach.")


_LOCAL = {4: "224.0.0.0/24", 6: "ff02::/16"}
"""Addresses of groups on one link."""


def range_refused(text: str) -> tuple[str, str] | None:
    """The same of a range of addresses."""
    if network(text) is not None:
        return None
    found = address(text)
    bits = {4: ("/8", "/32"), 6: ("/64", "/128")}.get(found.version if found is not None else 4, ("", ""))
    lacking = f"Add a prefix: {text}{bits[1]} is this address alone, {text}{bits[0]} is a network."
    return "must be a range of IP addresses such as 10.0.0.0/8", "" if found is None else lacking


def source_refused(text: str) -> tuple[str, str] | None:
    """The same of a range of a load balancer, which may have blanks around it."""
    return range_refused(text.strip())
