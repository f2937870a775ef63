"""What the page says, out of its own catalogue, so that a test finds things by their words in either language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]

SOURCES = Path(__file__).parents[2] / "web" / "src" / "words"
STRING = r'"(?:[^"\\]|\\.)*"'
ENTRY = re.compile(rf'(?:"([\w.]+)"|([\w.]+)): \[\s*({STRING}),\s*({STRING}),?\s*\]')


class Catalogue:
    """The sentences in one language, by key."""

    def __init__(self, language: Language) -> None:
        column = 2 if language == "en" else 3
        self._sentences: dict[str, str] = {
            found[0] or found[1]: json.loads(found[column])
            for source in sorted(SOURCES.glob("catalogue*.ts"))
            for found in ENTRY.findall(source.read_text())
        }

    def __call__(self, key: str, **holes: object) -> str:
        """A sentence with its holes filled; of "one|more" the second, unless ``n`` is 1."""
        sentence = self._sentences[key].split("|")[0 if holes.get("n") == 1 else -1]
        return sentence.format_map({name: str(value) for name, value in holes.items()})
