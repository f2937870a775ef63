/** What does not stand any more: folded away, and never thrown away. */

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type * as Y from "yjs";

import * as entries from "../doc/entries";
import type { Entry, Ledger } from "../doc/ledger";
import { say } from "../words/language";
import { badgeView } from "./badges";
import type { Act, Drawn } from "./ledger_parts";

type EntryView = (one: Entry, badge: Drawn, acts: Act[], source?: string | null) => TemplateResult;

interface Past {
  one: Entry;
  badge: Drawn;
  acts: Act[];
  source: string | null;
}

export function pastView(ledger: Ledger, doc: Y.Doc, entryView: EntryView): Drawn {
  const over = ledger.steps.filter((one) => one.status === "done" || one.status === "dropped");
  const retired = ledger.constraints.filter((one) => one.status === "retired");
  const dropped = ledger.questions.filter((one) => one.status === "dropped");
  const superseded = ledger.decisions.filter((one) => one.status === "superseded");
  const reopen = ({ id }: Entry): Act[] => [["ledger.reopen", () => entries.setStep(doc, id, "open")]];
  const back = (name: "constraints" | "questions", { id }: Entry): Act[] => [
    ["ledger.put_back", () => entries.putBack(doc, name, id)],
  ];
  const all: Past[] = [
    ...over.map((one) => {
      const badge = badgeView(one.status === "done" ? "ledger.is_done" : "ledger.is_dropped");
      return { one, badge, acts: reopen(one), source: one.source };
    }),
    ...retired.map((one) => ({ one, badge: badgeView("ledger.is_retired"), acts: back("constraints", one), source: one.source })),
    ...dropped.map((one) => ({ one, badge: badgeView("ledger.is_dropped"), acts: back("questions", one), source: null })),
    ...superseded.map((one) => ({ one, badge: badgeView("ledger.is_superseded"), acts: [], source: one.source })),
  ];
  if (!all.length) return nothing;
  return html`<details class="past">
    <summary>${say("ledger.past", { n: all.length })}</summary>
    <ul>
      ${repeat(
        all,
        ({ one }) => one.id,
        ({ one, badge, acts, source }) => entryView(one, badge, acts, source),
      )}
    </ul>
  </details>`;
}
