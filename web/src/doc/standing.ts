/**
 * How questions and decisions stand, from the entries that people added: `crdt_docs/standing.py`, in the browser. Must never
 * pick a winner: what conflicts is said to conflict. Both read `tests/fixtures/schema1/standings.json`.
 */

export type DecisionStatus = "current" | "superseded" | "conflicting";
export type QuestionStatus = "open" | "answered" | "dropped" | "conflicting";

/**
 * The status of each decision, given which others it supersedes. Where one was superseded along two lines whose ends both
 * still stand, those ends are in conflict; so are decisions that supersede each other in a ring.
 */
export function decisionStandings(supersedes: ReadonlyMap<string, readonly string[]>): Map<string, DecisionStatus> {
  const successors = new Map([...supersedes.keys()].map((key) => [key, new Set<string>()]));
  for (const [key, olds] of supersedes) for (const old of olds) if (old !== key) successors.get(old)?.add(key);
  const out = new Map<string, DecisionStatus>();
  for (const [key, after] of successors) out.set(key, after.size ? "superseded" : "current");
  for (const [key, after] of successors) {
    const reached = allAfter(key, successors);
    if (after.size < 2 && !reached.has(key)) continue;
    const heads = [...reached].filter((end) => !successors.get(end)!.size);
    if (heads.length !== 1) for (const end of heads.length ? heads : reached) out.set(end, "conflicting");
  }
  return out;
}

function allAfter(start: string, successors: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const seen = new Set<string>();
  const waiting = [...successors.get(start)!];
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (seen.has(key)) continue;
    seen.add(key);
    waiting.push(...successors.get(key)!);
  }
  return seen;
}

interface Given {
  id: string;
  text: string;
  supersedes: readonly string[];
}

/** Answers that have words and that no other answer took the place of. An empty one is still being written. */
export function standingAnswers<A extends Given>(answers: readonly A[]): A[] {
  const given = answers.filter((answer) => squeeze(answer.text));
  const replaced = new Set(given.flatMap((answer) => answer.supersedes.filter((old) => old !== answer.id)));
  return given.filter((answer) => !replaced.has(answer.id));
}

/** Open, answered, dropped, or conflicting where answers that differ in words stand beside each other. */
export function answerStanding(answers: readonly Given[], dropped: boolean): QuestionStatus {
  const standing = new Set(standingAnswers(answers).map((answer) => fold(squeeze(answer.text))));
  if (standing.size === 1) return "answered";
  if (answers.some((answer) => squeeze(answer.text))) return "conflicting";
  return dropped ? "dropped" : "open";
}

/** Runs of what Python's `split` takes for blanks as one space. */
function squeeze(text: string): string {
  return text.replace(/(?:(?!\ufeff)[\s\x1c-\x1f\x85])+/g, " ").replace(/^ | $/g, "");
}

/** As near to `casefold` as JavaScript comes: ß and SS, σ and ς are alike. */
function fold(text: string): string {
  return text.toUpperCase().toLowerCase().replace(/ς/g, "σ");
}
