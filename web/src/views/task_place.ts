/**
 * Where one is in the task that is shown: which part, which document, where in its words. Owns what is kept of it; must never
 * take merely looking in for a move.
 */

import type { OpenTask } from "../sync/open_task";
import type { Where } from "../sync/where";
import { Whereabouts } from "../sync/whereabouts";
import type { DocumentsView } from "./documents_view";
import { PANELS, type Panel } from "./panels";

interface Shown extends HTMLElement {
  panel: Panel;
  chosen: string;
}

export class TaskPlace {
  /** Where to put the caret; nowhere until the task is open. */
  caret: DocumentsView["place"] = null;
  readonly #begins: { where: Where | null; isBrought: boolean };
  readonly #whereabouts: Whereabouts;
  #generation: number | undefined;

  constructor(
    private readonly page: Shown,
    to: ConstructorParameters<typeof Whereabouts>[0],
  ) {
    this.#begins = to.shelf.placeIn(to.task);
    page.panel = PANELS.find((one) => one === this.#begins.where?.panel) ?? "talk";
    page.chosen = this.#begins.where?.document ?? "";
    this.#whereabouts = new Whereabouts(to, () => this.#read());
  }

  /** The task is open; in a document that began anew since, no place is what it was. */
  opened({ generation }: OpenTask): void {
    this.#generation = generation;
    const { where, isBrought } = this.#begins;
    if (where?.caret && where.generation === generation) this.caret = { document: where.document, caret: where.caret, isBrought };
  }

  /** On a wide screen, where all parts are shown, one is in the part that has the focus. */
  readonly entered = (event: FocusEvent): void => {
    const name = (event.target as Element).closest(".panel")?.className.split(" ")[1]?.slice("panel-".length);
    const panel = PANELS.find((one) => one === name);
    if (panel && panel !== this.page.panel) this.moveTo(panel);
  };

  moveTo(panel: Panel): void {
    this.page.panel = panel;
    this.moved();
  }

  readonly moved = (): void => this.#whereabouts.moved();

  stop(): void {
    this.#whereabouts.stop();
  }

  /** With the caret that one came with, until it is put elsewhere. */
  #read(): Where {
    const { panel, chosen } = this.page;
    const documents = this.page.querySelector<DocumentsView>("clew-documents");
    const { document, caret } = documents?.whereabouts ?? { document: chosen, caret: null };
    const before = this.#begins.where;
    const kept = before?.document === document ? { caret: before.caret, generation: before.generation } : {};
    const now = caret === null ? kept : { caret, generation: this.#generation };
    return { panel, document, ...(now as Pick<Where, "caret">) };
  }
}
