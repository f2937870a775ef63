/** Words not sent yet. Owns that a reload brings them back, in this tab alone; must never fail for want of room. */

const draftKey = (task: string): string => `clew.draft.${task}`;

export function draftOf(task: string): string {
  try {
    return sessionStorage.getItem(draftKey(task)) ?? "";
  } catch {
    return "";
  }
}

export function keepDraft(task: string, text: string): void {
  try {
    if (text) sessionStorage.setItem(draftKey(task), text);
    else sessionStorage.removeItem(draftKey(task));
  } catch {
    return;
  }
}
