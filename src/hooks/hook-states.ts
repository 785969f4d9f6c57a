import type { Facts } from "../facts.js";

/** Fact of the profiles: the states of hooks as JSON, by name. */
const HOOKS = "hooks";

/** State of a hook besides its outbox. */
export interface HookState {
  /** Segments whose members are not in the outbox yet, and the last member of the first one that is. */
  readonly walk?: { readonly segments: readonly string[]; readonly after: string } | undefined;
  /** When it last answered a request with 2xx, Unix ms. */
  readonly takenAt?: number | undefined;
  /** Failure of the last request; absent after a 2xx. Contains no personal data. */
  readonly problem?: string | undefined;
}

export type HookStates = Readonly<Record<string, HookState>>;

/** Returns the states of the hooks that were ever used and are still configured. */
export async function hookStates(facts: Pick<Facts, "text">): Promise<HookStates> {
  return JSON.parse((await facts.text(HOOKS)) ?? "{}") as HookStates;
}

/** Stores the result of `change`, which may run more than once. Returns it. */
export async function changeStates(
  facts: Pick<Facts, "text" | "replaceText">,
  change: (states: HookStates) => HookStates,
): Promise<HookStates> {
  for (;;) {
    const text = await facts.text(HOOKS);
    const before = text ?? "{}";
    const next = change(JSON.parse(before) as HookStates);
    const nextText = JSON.stringify(next);
    if (nextText === before || (await facts.replaceText(HOOKS, text, nextText))) return next;
  }
}
