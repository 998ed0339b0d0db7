"""Checks names, keys, paths, images and addresses as Kubernetes does: why the API server or kubelet refuses a text.

Follows k8s.io/apimachinery/pkg/util/validation and pkg/apis/core/validation of Kubernetes 1.35, and for images
github.com/distribution/reference v0.6, which the kubelet uses.

Addresses follow ``ParseIPSloppy`` and ``ParseCIDRSloppy`` of k8s.io/utils/net, which Kubernetes 1.33 calls: numbers may
have leading zeros, and an address may have more bits than its prefix allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from kubectl_tas.base.late import imported

Refusal = tuple[str, str] | None
"""The rule that a value violates, and a hint; None for a valid value."""

TEMPLATED = "This is a template of Helm: keep here what `helm template` prints of it."
"""The hint for a name with braces."""
_KEPT = 512
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = rf"((?=[^/]{{1,253}}/){_SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
_HOST = (
    r"([a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(:[0-9]+)?"
)
_PART = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"
_TAG, _DIGEST = r"\w[\w.-]{0,127}", r"[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"


def _spelled(pattern: str, rule: str, hint: str) -> Callable[[str], Refusal]:
    """Makes a check that a whole text matches a pattern; caches results, since texts recur in many documents."""

    @lru_cache(maxsize=_KEPT)
    def refused(text: str) -> Refusal:
        return None if re.fullmatch(pattern, text, re.ASCII) else (rule, hint)

    return refused


def or_empty(refused: Callable[[str], Refusal]) -> Callable[[str], Refusal]:
    """Makes a check that accepts an empty text, for a field that then counts as absent."""
    return lambda text: refused(text) if text else None


label = _spelled(
    rf"(?=.{{1,63}}$){_LABEL}",
    "must be at most 63 lower-case letters, digits and '-', a letter or digit first and last",
    "Write it like data-1.",
)
subdomain = _spelled(
    rf"(?=.{{1,253}}$){_SUBDOMAIN}",
    "must be lower-case letters, digits, '-' and '.', a letter or digit first and last",
    "Write the name of an object, such as trainer-1.",
)
search_domain = _spelled(
    r"(?=.{1,254}$)(_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*\.?|\.)",
    "must be a domain in lower-case letters",
    "Write one domain, such as svc.cluster.local.",
)
label_key = _spelled(
    _QUALIFIED,
    "must be the key of a label: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'",
    "Write one such as example.com/zone.",
)
label_value = _spelled(
    r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?",
    "must be the value of a label: at most 63 letters, digits, '-', '_' and '.', a letter or digit at both ends",
    "Write '-' or '_' in place of other characters.",
)
domain_path = _spelled(
    rf"(?=.{{1,63}}$){_SUBDOMAIN}/[A-Za-z0-9/._~%!$&'()*+,;=:-]+",
    "must be a name behind a domain",
    "Write one such as kueue.x-k8s.io/multikueue.",
)
config_key = _spelled(
    r"(?!\.\.|\.$)[-._a-zA-Z0-9]{1,253}",
    "must be a key of a ConfigMap or Secret: letters, digits, '-', '_' and '.'",
    "Write the key as the object has it.",
)
variable = _spelled(
    r"[ -<>-~]+", "must be the name of a variable: printable ASCII without '='", "Write one such as LOG_LEVEL."
)
variable_prefix = _spelled(
    r"[ -<>-~]*", "must be printable ASCII without '='", "Write the beginning of variables' names, such as APP_."
)
header = _spelled(r"[-A-Za-z0-9]+", "must be the name of an HTTP header", "Write one such as X-Health.")
sysctl = _spelled(
    r"(?=.{1,253}$)([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?",
    "must be the name of a sysctl",
    "Write one such as net.core.somaxconn.",
)
path_segment = _spelled(
    r"(?!\.\.?$)[^/%]+", "must be a name without '/' and '%'", "Write the name as the cluster has it."
)
some = _spelled(r"[\s\S]+", "must not be empty", "Write one.")
absolute = _spelled(r"/[\s\S]*", "must be an absolute path", "Begin it with '/'.")
working_folder = _spelled(
    r"|([/\\]|[A-Za-z]:[/\\])[\s\S]*|[\s\S]*\{\{[\s\S]*",
    "must be an absolute path, or no container starts",
    "Begin it with '/'.",
)
"""A folder in which a command runs. runc refuses a relative one (``validateProcessSpec`` of runc 1.3: libcontainer)."""
medium = _spelled(r"(Memory|HugePages(-.+)?)?", "must be Memory, HugePages or empty", "Write Memory, or leave it out.")
_IMAGE = _spelled(
    rf"({_HOST}/)?{_PART}(/{_PART})*(:{_TAG})?(@{_DIGEST})?",
    "must be an image that a kubelet can pull: NAME:TAG or NAME@DIGEST, its name in lower-case letters",
    "Write an image such as busybox:1.37.",
)
_PORT_NAME = _spelled(
    r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*",
    "must be at most 15 lower-case letters, digits and single '-', with a letter among them",
    "Write a short one such as http.",
)


@lru_cache(maxsize=_KEPT)
def image(text: str) -> Refusal:
    """Checks a container image."""
    if not text:
        return some(text)
    if text != text.strip():
        return "must have no blanks around it", f"Write {text.strip()}."
    refusal, corrected = _IMAGE(text), text.removeprefix("https://").removeprefix("docker://").removesuffix(":")
    joined = re.sub(r"\s*([:/@])\s*", r"\1", corrected)
    if re.search("[:/@]", joined):  # a word alone may be something else
        corrected = re.sub(r"^[^@]*?(?=(:[^/@]*)?(@|$))", lambda name: name[0].lower(), joined)  # not the tag
    return (refusal[0], f"Write {corrected}.") if refusal and _IMAGE(corrected) is None else refusal


port_name = or_empty(_PORT_NAME)


def port(value: int | str) -> Refusal:
    """Checks the number or name of a port, as in probes."""
    if isinstance(value, int):
        return None if 0 < value < 2**16 else ("must be from 1 to 65535", "Write a port of the container.")
    if value.isdecimal():
        return "must be a number, or a name with a letter in it", f"Write it without quotes: {value}."
    return _PORT_NAME(value)


def usable_ports(names: Iterable[str]) -> tuple[list[str], set[str]]:
    """Returns the names that a port may have, and those that it would have if the others were spelled as it must be:
    in lower case, with - for _.
    """
    usable = [name for name in names if _PORT_NAME(name) is None]
    return usable, {name.lower().replace("_", "-") for name in names} - set(usable)


INT32 = range(-(2**31), 2**31)


def within(value: int, bound: range) -> Refusal:
    """Checks a whole number against its bound."""
    if value in bound:
        return None
    end, how, which = (bound[0], "least", "more") if value < bound[0] else (bound[-1], "most", "less")
    return f"must be at {how} {end}", f"Use {end} or {which}."


def number_or_text(value: int | str) -> Refusal:
    """Checks a value that may be a number or text. Kubernetes reads the number as int32 (IntOrString of
    k8s.io/apimachinery/pkg/util/intstr).
    """
    return within(value, INT32) if isinstance(value, int) else None


def share(value: int | str) -> Refusal:
    """Checks a number or share of pods."""
    if isinstance(value, int):
        return number_or_text(value) if value >= 0 else ("must be at least 0", "Use 0 or more.")
    if re.fullmatch(r"[0-9]{1,9}%", value):
        return None
    hint = f"Write it without quotes: {value}." if value.isdecimal() else "Write a number such as 1, or a share: 25%."
    return "must be a number, or a share such as 25%", hint


def share_of_all(value: int | str) -> Refusal:
    """Checks a number or share of pods, with at most 100%."""
    is_more = isinstance(value, str) and share(value) is None and int(value[:-1]) > 100
    return ("must be at most 100%", "Write 100% or less.") if is_more else share(value)


def local_path(text: str) -> Refusal:
    """Checks a path in a volume."""
    if text.startswith("/"):
        return "must be a relative path", f"Write {text.lstrip('/') or 'a path'} without '/' before it."
    if ".." in text.split("/") or text.startswith(".."):
        return "must not begin with '..' or hold it", "Write the path without."
    return None


def node_path(text: str) -> Refusal:
    """Checks a path on the node."""
    return ("must not hold '..'", "Write the path without.") if ".." in text.split("/") else some(text)


def file_path(text: str) -> Refusal:
    """Checks the path of one file in a volume."""
    return local_path(text) if text else some(text)


_MODES = frozenset(("400", "440", "444", "500"))
"""Decimal numbers of no mode that files have, whose digits are those of one in octal."""


def mode(value: Any) -> Refusal:
    """Checks the mode of files: a number up to 0777, which users write with octal digits."""
    digits = str(value)
    decimal = int(digits, 8) if re.fullmatch(r"[0-7]{3}", digits) else None
    if digits in _MODES:
        return f"is {value:04o} in octal digits", f"Write {decimal}, which is {digits} in octal digits."
    if 0 <= value <= 0o777:
        return None
    hint = (
        "Write a number from 0 to 511." if decimal is None else f"Write {decimal}, which is {digits} in octal digits."
    )
    return "must be from 0 to 511, which is 777 in octal digits", hint


NO_ADDRESS = "None"
"""The clusterIP of a headless Service."""
_ZEROS = r"\b0+(?=[0-9])"


def address(text: str) -> Any:
    """Returns an IPv4Address or IPv6Address; None for any other text."""
    return None if "/" in text or "%" in text else _read_address("ip_address", text)


def network(text: str) -> Any:
    """Returns the IPv4Network or IPv6Network of an address and prefix, such as 10.0.0.0/8; None for any other text."""
    host, _, bits = text.partition("/")
    if "%" in host or not re.fullmatch("[0-9]{1,3}", bits):
        return None
    return _read_address("ip_network", text, strict=False)


def _read_address(name: str, text: str, **options: bool) -> Any:
    try:
        return imported(f"ipaddress:{name}")(text if ":" in text else re.sub(_ZEROS, "", text), **options)
    except ValueError:
        return None


def address_refused(text: str) -> Refusal:
    """Returns why an API server refuses an address, and a hint; None if the server accepts it."""
    if address(text) is None:
        return "must be an IP address", "Write one such as 10.0.0.1 or 2001:db8::1."
    return None


def cluster_ip_refused(text: str) -> Refusal:
    """Returns why an API server refuses a clusterIP, and a hint; None if the server accepts it."""
    if text in ("", NO_ADDRESS):
        return None
    if text.casefold() == NO_ADDRESS.casefold():
        return f"must be an IP address or {NO_ADDRESS}", f"Write {NO_ADDRESS}."
    return address_refused(text)


def external_ip_refused(text: str) -> Refusal:
    """Returns why an API server refuses an external address of a Service: ``ValidateNonSpecialIP``."""
    ip_address = address(text)
    if ip_address is None:
        return address_refused(text)
    kinds = {
        "an unspecified": ip_address.is_unspecified,
        "a loopback": ip_address.is_loopback,
        "a link-local": ip_address.is_link_local
        or (ip_address.is_multicast and ip_address in network(_LOCAL[ip_address.version])),
    }
    kind = next((name for name, is_one in kinds.items() if is_one), None)
    return None if kind is None else (f"must not be {kind} address", "Write an address that others can reach.")


_LOCAL = {4: "224.0.0.0/24", 6: "ff02::/16"}
"""The link-local multicast networks, by IP version."""


def range_refused(text: str) -> Refusal:
    """Returns why an API server refuses a range of addresses, and a hint; None if the server accepts it."""
    if network(text) is not None:
        return None
    ip_address = address(text)
    message = "must be a range of IP addresses such as 10.0.0.0/8"
    if ip_address is None:
        return message, ""
    many, host_prefix = ("/8", "/32") if ip_address.version == 4 else ("/64", "/128")
    return message, f"Add a prefix: {text}{host_prefix} is this address alone, {text}{many} is a network."


def source_refused(text: str) -> Refusal:
    """Returns why an API server refuses a range of a load balancer, which may have blanks around it."""
    return range_refused(text.strip())
