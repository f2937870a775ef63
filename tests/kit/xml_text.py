"""A pycrdt document's roots as yjs prints them, so that what two engines hold can be compared as text.

Owns the imitation of yjs's ``toString`` and ``toJSON``: node names in lower case, attributes and marks sorted by name.
"""

from __future__ import annotations

from typing import Any

from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment, XmlText


def read_root(doc: Doc[Any], name: str, kind: str) -> Any:
    """A root as yjs's ``toJSON`` gives it; kinds are text, map, array and fragment."""
    types: dict[str, Any] = {"text": Text, "map": Map, "array": Array, "fragment": XmlFragment}
    return to_json(doc.get(name, type=types[kind]))


def to_json(value: Any) -> Any:
    """A shared type, or a value in one, as plain JSON."""
    if isinstance(value, XmlFragment | XmlElement | XmlText):
        return to_text(value)
    if isinstance(value, Text):
        return "".join(part for part, _ in value.diff() if isinstance(part, str))
    if isinstance(value, Map):
        return {key: to_json(value[key]) for key in value.keys()}
    if isinstance(value, Array):
        return [to_json(item) for item in value]
    if isinstance(value, Doc):
        return {"document": value.guid}
    return _number(value)


def to_text(node: Any) -> str:
    """A fragment, element or XML text as yjs's ``toString`` gives it."""
    if isinstance(node, XmlText):
        return "".join(_marked(str(insert), marks or {}) for insert, marks in node.diff())
    inner = "".join(to_text(child) for child in node.children)
    if isinstance(node, XmlElement):
        name = (node.tag or "").lower()
        view: Any = node.attributes
        attributes = "".join(f' {key}="{_plain(value)}"' for key, value in sorted(view))
        return f"<{name}{attributes}>{inner}</{name}>"
    return inner


def _marked(text: str, marks: dict[str, Any]) -> str:
    for name in sorted(marks, reverse=True):
        value = marks[name]
        items = sorted(value.items()) if isinstance(value, dict) else []
        attributes = "".join(f' {key}="{_plain(item)}"' for key, item in items)
        text = f"<{name}{attributes}>{text}</{name}>"
    return text


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(value: Any) -> str:
    """A value as a template string of JavaScript shows it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(_number(value))
