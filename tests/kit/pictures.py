"""Pictures of a page, compared and made small. Chromium decodes them: no other library is needed.

Owns what counts as another picture. Must never call two pictures alike because little differs on the whole: a missing
button is a small share of a screen, so every tile is looked at too.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from playwright.sync_api import Browser

TILE: Final = 64
"""Pixels, both ways."""
COMPARE = """async ({one, other, tile, most}) => {
  const pixelsOf = async (png) => {
    const bitmap = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const brush = canvas.getContext("2d");
    brush.drawImage(bitmap, 0, 0);
    return brush.getImageData(0, 0, bitmap.width, bitmap.height);
  };
  const [a, b] = await Promise.all([pixelsOf(one), pixelsOf(other)]);
  if (a.width !== b.width || a.height !== b.height) return {share: 1, worst: 1, shown: one};
  const across = Math.ceil(a.width / tile);
  const tiles = new Uint32Array(across * Math.ceil(a.height / tile));
  const canvas = new OffscreenCanvas(a.width, a.height);
  const brush = canvas.getContext("2d");
  const shown = brush.createImageData(a.width, a.height);
  let differing = 0;
  for (let at = 0; at < a.data.length; at += 4) {
    const off = Math.max(...[0, 1, 2].map((part) => Math.abs(a.data[at + part] - b.data[at + part])));
    const pixel = at / 4;
    const grey = 200 + a.data[at + 1] / 5;
    shown.data.set(off > most ? [220, 0, 60, 255] : [grey, grey, grey, 255], at);
    if (off <= most) continue;
    differing += 1;
    tiles[Math.floor(Math.floor(pixel / a.width) / tile) * across + Math.floor((pixel % a.width) / tile)] += 1;
  }
  brush.putImageData(shown, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return {share: differing / (a.width * a.height), worst: Math.max(...tiles) / tile ** 2, shown: btoa(text)};
}"""
REDUCE = """async (png) => {
  const bitmap = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
  const {width, height} = bitmap;
  const brush = new OffscreenCanvas(width, height).getContext("2d");
  brush.drawImage(bitmap, 0, 0);
  const data = brush.getImageData(0, 0, width, height).data;
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const places = new Map(palette.map((colour, at) => [colour, at]));
  const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];
  const nearest = (colour) => {
    const wanted = parts(colour);
    let [best, least] = [0, Infinity];
    palette.forEach((other, at) => {
      const off = parts(other).reduce((sum, part, n) => sum + (part - wanted[n]) ** 2, 0);
      if (off < least) [best, least] = [at, off];
    });
    return best;
  };
  for (const colour of counts.keys()) if (!places.has(colour)) places.set(colour, nearest(colour));
  let indices = "";
  for (let at = 0; at < data.length; at += 4)
    indices += String.fromCharCode(places.get((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]));
  return {width, height, palette: palette.flatMap(parts), indices: btoa(indices)};
}"""


@dataclass(frozen=True, slots=True)
class Difference:
    """``share`` of the whole picture and of its ``worst`` tile, both 0 to 1; ``shown`` is a PNG of where."""

    share: float
    worst: float
    shown: bytes


class Pictures:
    """An empty page to look at pictures with."""

    def __init__(self, browser: Browser) -> None:
        self._context = browser.new_context()
        self._page = self._context.new_page()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.close()

    def compare(self, one: bytes, other: bytes, most: int = 40) -> Difference:
        """How far two PNGs differ; a pixel does where a channel is off by more than ``most`` of 255."""
        found: dict[str, Any] = self._page.evaluate(
            COMPARE, {"one": _text(one), "other": _text(other), "tile": TILE, "most": most}
        )
        return Difference(found["share"], found["worst"], base64.b64decode(found["shown"]))

    def shrink(self, png: bytes) -> bytes:
        """The same picture in its 256 most frequent colours."""
        found: dict[str, Any] = self._page.evaluate(REDUCE, _text(png))
        width, height = found["width"], found["height"]
        indices = base64.b64decode(found["indices"])
        lines = b"".join(b"\x00" + indices[at : at + width] for at in range(0, width * height, width))
        head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
        chunks = {b"IHDR": head, b"PLTE": bytes(found["palette"]), b"IDAT": zlib.compress(lines, 9), b"IEND": b""}
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks.items())


def _text(png: bytes) -> str:
    return base64.b64encode(png).decode()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
