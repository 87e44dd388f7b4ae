# SPDX-License-Identifier: BSD-3-Clause
"""JSON Schemas of the documents of studies, made of their types.

`python -m keepon_papers.schema_files` writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from keepon.model import document_schemas
from keepon_papers.document import STUDY_SCHEMA, StudyDocument
from keepon_papers.reproduction import REPRODUCTION_SCHEMA, Reproduction

PACKAGE = "keepon_papers"
FOLDER = Path(__file__).parent / "schemas"
DOCUMENTS: document_schemas.Kinds = {
    "reproduction": (REPRODUCTION_SCHEMA, Reproduction),
    "study": (STUDY_SCHEMA, StudyDocument),
}

if __name__ == "__main__":
    sys.exit(document_schemas.main(FOLDER, DOCUMENTS))
