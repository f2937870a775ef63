/** Where somebody was in a task: which part of the page, which document, where in its words. Must never hold what they wrote. */
export interface Where {
  panel: string;
  document: string;
  /** A place in the body of that document's generation, as Yjs writes it. */
  caret?: unknown;
  generation?: number;
}
