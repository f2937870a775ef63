"""Whether bytes that a server relayed can be applied by a native engine: tried in a process that may die of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

SCRIPT = """
import sys
from pycrdt import Doc
doc = Doc()
for line in sys.stdin:
    doc.apply_update(bytes.fromhex(line))
doc.get_update()
print("fine")
"""


def applies_natively(updates: Sequence[bytes], within: float = 20.0) -> bool:
    """Apply them in order to an empty pycrdt document, elsewhere; False if that raised, crashed or hung."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input="\n".join(update.hex() for update in updates),
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.stdout.strip() == "fine"
