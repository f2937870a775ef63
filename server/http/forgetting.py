"""What of a document is kept in memory for those who read it, and dropped when somebody was erased from it."""

from __future__ import annotations

from collections.abc import Callable

from crdt_docs.ids import DocName
from server.http.reader import Reader
from server.http.resumptions import Resumptions


def forgetting(reader: Reader, resumptions: Resumptions) -> Callable[[DocName], None]:
    """Drops what both keep of a document."""

    def forget(name: DocName) -> None:
        reader.forget(name)
        resumptions.forget()

    return forget
