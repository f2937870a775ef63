"""Learn the clerk's judgement: ``python -m agent.clerk.training tests/agent/statements``, a minute or so.

Owns the two files of weights beside the rules. Must never read the sets that only judge.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Final

from agent.clerk.training.labelled import read_examples
from agent.clerk.training.learning import learn
from agent.clerk.weights import Weights

TABLES: Final = Path(__file__).parent.parent / "tables"
SOURCES: Final = TABLES / "weights.sources"
"""From which files, as they were, the weights were learned."""
_JUDGING: Final = {"frozen", "blind"}


def taught(folder: Path) -> list[Path]:
    """The files of a folder that teach, in order."""
    return [path for path in sorted(folder.glob("*.jsonl")) if path.stem not in _JUDGING]


def digest(path: Path) -> str:
    """What tells one state of a file from another."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _store(weights: Weights, path: Path) -> None:
    lines = (f"{mark}\t{' '.join(map(str, numbers))}\n" for mark, numbers in sorted(weights.items()))
    path.write_text("".join(lines), encoding="utf-8")


def main(folder: str) -> None:
    """Read what is labelled, learn, store."""
    paths = taught(Path(folder))
    judgement = learn(read_examples(paths))
    _store(judgement.looks, TABLES / "looks.weights")
    _store(judgement.verdicts, TABLES / "verdicts.weights")
    SOURCES.write_text("".join(f"{path.name} {digest(path)}\n" for path in paths), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
