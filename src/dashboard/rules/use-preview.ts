import { useState } from "preact/hooks";
import { ApiError, type Issue, type RulePreview } from "../../client/client.js";
import type { Page } from "../view.js";
import { usePoll } from "../views/use-poll.js";
import { messageOf } from "../views/use-task.js";

/** Pause after a change of the rule, ms. */
const TYPING_MS = 400;
/** Pause before another try of a preview that failed, ms. */
const RETRY_MS = 3_000;

interface PreviewInput {
  readonly table: string;
  /** Undefined while it is incomplete. */
  readonly rule: { readonly [field: string]: unknown } | undefined;
  /** The segment whose rule it replaces. */
  readonly id?: string | undefined;
}

/** Result for a rule, also while a newer one is typed. */
export interface PreviewResult extends PreviewInput {
  readonly preview?: RulePreview;
  /** The first error of the rule. */
  readonly issue?: Issue | undefined;
  /** Reason if the rule could not be previewed. */
  readonly failure?: string;
}

/** Previews a rule when typing pauses. */
export function usePreview(input: PreviewInput, page: Page): PreviewResult | undefined {
  const [result, setResult] = useState<PreviewResult>();
  const { table, rule, id } = input;
  usePoll({
    key: JSON.stringify([table, rule]),
    firstMs: TYPING_MS,
    everyMs: RETRY_MS,
    async poll(signal) {
      if (rule === undefined) return false;
      const named = id === undefined ? {} : { id };
      try {
        setResult({ ...input, preview: await page.client.previewRule({ table, rule, ...named }, { signal }) });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 400) throw error;
        setResult({ ...input, issue: error.issues[0] });
      }
      return false;
    },
    onError: (error) => setResult({ ...input, failure: messageOf(error) }),
  });
  return result;
}
