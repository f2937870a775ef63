"""What axe says of a page. Owns which rules count: WCAG 2.2 AA and axe's own advice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

SOURCE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def complaints(page: Page) -> list[str]:
    """What axe finds wrong on the screen as it is, one line a place."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(SOURCE.read_text())  # past the page's policy, which lets no stranger's script in
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found: list[dict[str, Any]] = page.evaluate(
        "options => axe.run(document, options).then(all => all.violations)", options
    )
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]
