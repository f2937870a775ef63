/** What opens over or above a task: its members, handing it over, and where it stands. Drawn and nothing more. */

import { html, nothing } from "lit";

import type { Api, Me, Task } from "../sync/api";
import type { Session } from "../sync/session";
import { say } from "../words/language";
import type { PageElement } from "./element";
import "./members_dialog";
import "./return_card";

interface Page extends PageElement {
  api: Api;
  me: Me;
  session: Session;
  task: string;
  isAtMembers: boolean;
  isHandingOver: boolean;
  isCatchingUp: boolean;
}

interface Ways {
  /** One has another role oneself. */
  own: (role: Task["role"]) => void;
  leave: () => void;
}

export function dialogsView(page: Page, { own, leave }: Ways) {
  const { api, me, session, task } = page;
  const members = html`<clew-members-dialog
    .api=${api}
    .me=${me}
    .task=${task}
    @closed=${() => (page.isAtMembers = false)}
    @own-role=${(event: CustomEvent<Task["role"]>) => own(event.detail)}
    @left=${leave}
  ></clew-members-dialog>`;
  const handoff = html`<clew-handoff-dialog
    .api=${api}
    .session=${session}
    .task=${task}
    @closed=${() => (page.isHandingOver = false)}
  ></clew-handoff-dialog>`;
  return html`${page.isAtMembers ? members : nothing} ${page.isHandingOver ? handoff : nothing}`;
}

export function catchUp(page: Page): void {
  page.isCatchingUp = true;
  void page.updateComplete.then(() => page.querySelector<HTMLElement>(".catch-up .close")?.focus());
}

export function catchUpView(page: Page, name: string) {
  if (!page.isCatchingUp) return nothing;
  const candidate = { task: { id: page.task, name }, why: "" };
  const close = (): void => {
    page.isCatchingUp = false;
    page.querySelector<HTMLElement>(".dots-button")?.focus();
  };
  return html`<aside
    class="catch-up"
    aria-label=${say("menu.catch_up")}
    @keydown=${(event: KeyboardEvent) => event.key === "Escape" && !event.defaultPrevented && close()}
  >
    <clew-return-card .api=${page.api} .me=${page.me} .candidate=${candidate} isOpen></clew-return-card>
    <button type="button" class="close" @click=${close}>${say("close")}</button>
  </aside>`;
}
