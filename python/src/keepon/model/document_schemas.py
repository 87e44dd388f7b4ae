# SPDX-License-Identifier: BSD-3-Clause
"""JSON Schemas of our documents, made of their types.

`python -m keepon.model.document_schemas` writes them.

The types are the only place where a key, its range and its meaning are stated.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import is_typeddict

from keepon.model.machinereports import DOCTOR_SCHEMA, HWCHECK_SCHEMA, Doctor, HardwareCheck
from keepon.model.plan import PLAN_SCHEMA, Plan
from keepon.model.result import RESULT_SCHEMA, Result
from keepon.model.tools import LISTEN_SCHEMA, TALK_SCHEMA, Listen, Talk

FOLDER = Path(__file__).parent / "schemas"
Kinds = Mapping[str, tuple[str, Any]]
"""Name of a document -> its key `schema`, and its type."""
DOCUMENTS: Kinds = {
    "plan": (PLAN_SCHEMA, Plan),
    "result": (RESULT_SCHEMA, Result),
    "talk": (TALK_SCHEMA, Talk),
    "listen": (LISTEN_SCHEMA, Listen),
    "hwcheck": (HWCHECK_SCHEMA, HardwareCheck),
    "doctor": (DOCTOR_SCHEMA, Doctor),
}
_HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$comment": "SPDX-License-Identifier: BSD-3-Clause",
}

Schema = dict[str, Any]


class _Untitled(GenerateJsonSchema):
    """Keys have no title: it would be their name once more."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def typed_dict_schema(self, schema: Any) -> Schema:
        """A table, its keys described where the class it inherits them from does so."""
        made = super().typed_dict_schema(schema)
        inherited = _inherited(schema["cls"])
        for name, entry in made["properties"].items():
            if name in inherited:
                entry.setdefault("description", inherited[name])
            if "description" in entry:
                entry["description"] = " ".join(entry["description"].split())
        made.pop("title", None)
        made["description"] = " ".join(made["description"].split())
        return made

    def dataclass_schema(self, schema: Any) -> Schema:
        """A table that is a dataclass: a file has all its keys, those with a default as well."""
        made = super().dataclass_schema(schema)
        for entry in made["properties"].values():
            entry.pop("default", None)
            entry["description"] = " ".join(entry["description"].split())
        made.pop("title", None)
        made["required"] = list(made["properties"])
        return made


def _inherited(table: Any) -> dict[str, str]:
    """Descriptions of the keys that a table has from others, which pydantic does not look for."""
    found: dict[str, str] = {}
    for base in getattr(table, "__orig_bases__", ()):
        if is_typeddict(base):
            made = TypeAdapter(base).json_schema(schema_generator=_Untitled)
            keys = made["properties"].items()
            found |= {name: entry["description"] for name, entry in keys if "description" in entry}
    return found


def schema(name: str, kinds: Kinds = DOCUMENTS) -> Schema:
    """The schema of a document by its name."""
    title, table = kinds[name]
    made = TypeAdapter(table).json_schema(schema_generator=_Untitled)
    described = {"title": title, "description": made.pop("description")}
    return {**_HEAD, **described, **made}


def text(name: str, kinds: Kinds = DOCUMENTS) -> str:
    """The schema as its file has it."""
    return json.dumps(schema(name, kinds), indent=1, ensure_ascii=False) + "\n"


def main(folder: Path = FOLDER, kinds: Kinds = DOCUMENTS) -> int:
    """Write the files."""
    for name in kinds:
        path = folder / f"{name}.schema.json"
        path.write_text(text(name, kinds), encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
