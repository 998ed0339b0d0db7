"""Data in, block-style YAML out, for ``-o yaml``."""

from __future__ import annotations

import io
from typing import Any


def dump(value: Any) -> str:
    """YAML with keys in the order of ``value``."""
    from ruamel.yaml import YAML

    yaml: Any = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.sort_base_mapping_type_on_output = False
    out = io.StringIO()
    yaml.dump(value, out)
    return out.getvalue()
