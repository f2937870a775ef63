/** What the menu offers inside a task: its status, where it stands, and taking it along as a file. */

import { html, nothing, type TemplateResult } from "lit";

import type { Task } from "../sync/api";
import { say, type Plain } from "../words/language";

export const STATUSES: Record<Task["status"], Plain> = {
  open: "status.open",
  paused: "status.paused",
  done: "status.done",
  archived: "status.archived",
};
const FILES: [format: string, name: Plain][] = [
  ["md", "menu.as_md"],
  ["docx", "menu.as_docx"],
  ["json", "menu.as_json"],
];

export interface TaskMenu {
  /** Null where it is not to be changed. */
  status: Task["status"] | null;
  setStatus: (status: Task["status"]) => void;
  catchUp: () => void;
  showMembers: () => void;
  /** Null where it is not to be taken away. */
  save: ((format: string) => void) | null;
  /** Null where one may not turn agents off. */
  agents: TemplateResult | null;
  /** Null where it is not to be handed on. */
  handOver: (() => void) | null;
}

export function taskMenu({ status, setStatus, catchUp, showMembers, save, agents, handOver }: TaskMenu): TemplateResult {
  const chosen = (event: Event): void => setStatus((event.target as HTMLSelectElement).value as Task["status"]);
  return html`${
      status
        ? html`<label>
            <span>${say("menu.status")}</span>
            <select name="status" @change=${chosen}>
              ${Object.entries(STATUSES).map(
                ([one, name]) => html`<option value=${one} ?selected=${one === status}>${say(name)}</option>`,
              )}
            </select>
          </label>`
        : nothing
    }
    <button type="button" popovertarget="menu" popovertargetaction="hide" @click=${catchUp}>${say("menu.catch_up")}</button>
    <button type="button" popovertarget="menu" popovertargetaction="hide" @click=${showMembers}>${say("menu.members")}</button>
    ${agents ?? nothing}
    ${
      handOver
        ? html`<button type="button" popovertarget="menu" popovertargetaction="hide" @click=${handOver}>
            ${say("handoff.title")}
          </button>`
        : nothing
    }
    ${
      save
        ? FILES.map(
            ([format, name]) =>
              html`<button type="button" popovertarget="menu" popovertargetaction="hide" @click=${() => save(format)}>
                ${say(name)}
              </button>`,
          )
        : nothing
    }`;
}
