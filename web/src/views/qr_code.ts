/** A QR code, drawn from its modules. Dark on light in both themes: not every camera reads it the other way round. */

import { html, type TemplateResult } from "lit";

/** Modules of light around it (ISO/IEC 18004). */
const QUIET = 4;

export function qrCode(rows: readonly string[], label: string): TemplateResult {
  const size = rows.length + 2 * QUIET;
  return html`<svg class="qr" role="img" aria-label=${label} viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">
    <path d=${outlineOf(rows)} />
  </svg>`;
}

/** One bar for each run of dark modules in a row. */
export function outlineOf(rows: readonly string[]): string {
  return rows
    .flatMap((row, y) => [...row.matchAll(/1+/g)].map((run) => `M${run.index + QUIET} ${y + QUIET}h${run[0].length}v1h-${run[0].length}z`))
    .join("");
}
