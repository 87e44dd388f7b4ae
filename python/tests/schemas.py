# SPDX-License-Identifier: BSD-3-Clause
"""What tests look for in JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def undescribed(schema: Any, at: str = "") -> Iterator[str]:
    """Keys of a JSON Schema without a description."""
    if isinstance(schema, list):
        for index, entry in enumerate(schema):
            yield from undescribed(entry, f"{at}/{index}")
    elif isinstance(schema, dict):
        for key, entry in schema.get("properties", {}).items():
            if "/allOf/" not in at and "description" not in entry:
                yield f"{at}/{key}"
        for key, entry in schema.items():
            yield from undescribed(entry, f"{at}/{key}")
