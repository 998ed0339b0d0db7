"""The head of an HTML page that stands alone: its one style sheet is in it, and a policy forbids all else."""

from __future__ import annotations

import base64
import hashlib


def head(title: str, style: str) -> str:
    """All of the page above its body. ``title`` is escaped already. The policy knows the style sheet by its digest, so
    that a browser neither runs nor loads anything, whatever the text of the page has in it.
    """
    sheet = f"\n{style}"
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{sheet}</style>\n</head>\n"
    )
