import { eachPage } from "../async/pages.js";
import { MAX_EVENTS } from "../deletions/targets/hook.js";
import type { Outbox, OutboxRow } from "../entities/outbox.js";

/** Yields the changes for the hook that are not in a request, the oldest first. */
export function unsentPages(outbox: Pick<Outbox, "page">, hook: string): AsyncGenerator<readonly OutboxRow[]> {
  return eachPage((last, limit) => outbox.page(hook, last, limit), MAX_EVENTS);
}

/** Yields the changes of `unsentPages` before this generation. */
export async function* earlierPages(
  outbox: Pick<Outbox, "page">,
  hook: string,
  generation: number,
): AsyncGenerator<readonly OutboxRow[]> {
  for await (const page of unsentPages(outbox, hook)) {
    const earlier = page.filter((row) => row.generation < generation);
    yield earlier;
    if (earlier.length < page.length) return;
  }
}

/**
 * Tells the hook at `at` (Unix ms) to read the members of these segments, and removes the earlier changes of people in
 * them. A commit that would cancel one of these without seeing the reset conflicts, so no reset may be sent during the
 * call.
 */
export async function resetSegments(
  outbox: Pick<Outbox, "page" | "claim" | "remove" | "reset">,
  hook: string,
  segments: ReadonlySet<string>,
  at: number,
): Promise<void> {
  const generation = await outbox.reset(hook, [...segments], at);
  for await (const earlier of earlierPages(outbox, hook, generation)) {
    const replaced = earlier.filter(({ change, segment }) => change !== "deleted" && segments.has(segment));
    if (replaced.length > 0) await outbox.remove([...(await outbox.claim(replaced.map(({ id }) => id)))]);
  }
}
