/** The rules of a task in words: what each asks, and what one is told who does not meet it. */

import { Problem } from "../sync/api";
import type { Policy } from "../sync/access";
import { say, type Plain } from "../words/language";

/** The reason of a task that asks for a confirmation first. */
export const UNCONFIRMED = "policy_confirm";
const REASONS: Record<string, Plain> = {
  policy_resume: "access.not_owner",
  policy_device: "access.not_device",
  [UNCONFIRMED]: "access.not_confirmed",
  delegation_over: "access.over",
  sign_in: "access.sign_in",
};

type Choices<K extends keyof Policy> = readonly (readonly [value: Policy[K], name: Plain, follows: Plain])[];

/** Each rule's choices: what they are called, and what follows. */
export const RULES: { [K in keyof Policy]: { name: Plain; choices: Choices<K> } } = {
  resume: {
    name: "access.resume",
    choices: [
      ["members", "access.resume_members", "access.resume_members_so"],
      ["owner", "access.resume_owner", "access.resume_owner_so"],
    ],
  },
  device: {
    name: "access.device",
    choices: [
      ["any", "access.device_any", "access.device_any_so"],
      ["registered", "access.device_registered", "access.device_registered_so"],
      ["bound", "access.device_bound", "access.device_bound_so"],
    ],
  },
  confirm: {
    name: "access.confirm",
    choices: [
      ["none", "access.confirm_none", "access.confirm_none_so"],
      ["number-match", "access.confirm_match", "access.confirm_match_so"],
      ["passkey", "access.confirm_passkey", "access.confirm_passkey_so"],
    ],
  },
};

/** What a rule that was not met says, by the reason that the server gave, if it gave one that is known here. */
export function reasonOf(reason: string | undefined): string | null {
  const words = reason === undefined ? undefined : REASONS[reason];
  return words ? say(words) : null;
}

/** The same for what went wrong. */
export function ruleOf(error: unknown): string | null {
  return error instanceof Problem ? reasonOf(error.reason) : null;
}
