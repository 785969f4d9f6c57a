import { type Background, inBackground, retry } from "../async/retry.js";
import { retryDelay } from "../deletions/deletion.js";
import { TargetError } from "../deletions/ports.js";
import { AT_ONCE, type SendEvents } from "../deletions/targets/hook.js";
import { CALL_MS } from "../deletions/targets/remote-call.js";
import { type Hook, type Outbox, type OutboxRow, SEGMENT } from "../entities/outbox.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import { changeStates, hookStates } from "./hook-states.js";
import { type OpenEventDependencies, type OpenedEvent, openEvents } from "./open-events.js";
import { earlierPages, resetSegments, unsentPages } from "./reset-segments.js";
import { type TellMembersDependencies, tellMembers } from "./tell-members.js";

export interface SenderDependencies extends TellMembersDependencies, OpenEventDependencies {
  readonly hooks: readonly Hook[];
  readonly outbox: Outbox;
  /** Sends the events of the hook with this name. */
  readonly calls: ReadonlyMap<string, SendEvents>;
  /** Takes or renews the lease of the active sender for `HOOK_LEASE_MS`. */
  lease(): Promise<"taken" | "renewed" | "refused">;
  readonly log: Log;
  readonly failpoint: Failpoint;
  /** Maximum rows of the outbox; tests set fewer. */
  readonly maxRows?: number;
}

/** A call begins only while it ends before the lease, so the next sender repeats no request that is in flight. */
export const HOOK_LEASE_MS = CALL_MS + 5_000;

const RENEW_MS = 1_000;
/** Pause between two looks at an empty outbox, ms. */
const POLL_MS = 500;
/** Pause after a failure of a store, ms. */
const PAUSE_MS = 1_000;
/** Bound of the outbox: the rows that commits add between two checks fit into a million. */
const MAX_ROWS = 800_000;
const CHECK_EVERY_MS = 5_000;
/** Interval at which the time of the last answer is stored while a hook takes events, ms. */
const STORE_ANSWER_MS = 5_000;

/** The requests of a hook, and its pause after a failure; times are ms of `performance.now`. */
interface Line {
  readonly hook: Hook;
  readonly requests: Set<{ readonly rows: readonly OutboxRow[]; readonly ended: Promise<void> }>;
  /** Whether the outbox has every member of `from: "members"`. */
  isReady: boolean;
  /** Whether it has the most changes of an outbox with too many. */
  isFull: boolean;
  failures: number;
  notBefore: number;
  answer: { readonly at: number; readonly problem: string | undefined } | undefined;
}

/** Sends the changes in the outbox to hooks. Only one of several senders over the same stores is active at a time. */
export function hookSender(dependencies: SenderDependencies): { start(): void; stop(): Promise<void> } {
  const { hooks, outbox, facts, calls, lease, clock, log, failpoint } = dependencies;
  const { maxRows = MAX_ROWS } = dependencies;
  const lines = hooks.map((hook): Line => {
    return { hook, requests: new Set(), isReady: false, isFull: false, failures: 0, notBefore: 0, answer: undefined };
  });
  let leads = Number.NEGATIVE_INFINITY;
  let isKnown = false;
  let isReleased = false;
  const background: Background[] = [];
  const stopping = new AbortController();

  const requestsEnded = () => Promise.all(lines.flatMap(({ requests }) => [...requests].map(({ ended }) => ended)));

  /** Until this time of `performance.now` a call may begin. */
  const mayCall = () => performance.now() < leads;

  async function lead(): Promise<number> {
    if (!isKnown) await forgetOthers();
    isKnown = true;
    const since = performance.now();
    const result = await lease();
    if (result === "refused") return RENEW_MS;
    if (result === "taken") isReleased = false;
    if (!isReleased) {
      // Calls of the sender before have ended with its lease.
      await requestsEnded();
      await outbox.release();
      isReleased = true;
    }
    leads = since + HOOK_LEASE_MS - CALL_MS;
    return RENEW_MS;
  }

  /** Forgets hooks that are not configured any more: if they are again, they are new. */
  async function forgetOthers(): Promise<void> {
    await outbox.keepOnly(hooks);
    await changeStates(facts, (states) =>
      Object.fromEntries(Object.entries(states).filter(([name]) => hooks.some((hook) => hook.name === name))),
    );
  }

  /** Finds the hook with the most rows if the outbox has too many. */
  async function bound(): Promise<number> {
    const counts = await Promise.all(hooks.map(({ name }) => outbox.count(name)));
    const most = Math.max(...counts.map(({ waiting }) => waiting));
    const isOver = counts.reduce((sum, { waiting }) => sum + waiting, 0) > maxRows;
    for (const [at, line] of lines.entries()) line.isFull = isOver && counts[at]?.waiting === most;
    return CHECK_EVERY_MS;
  }

  /** Replaces the changes of the segments that the oldest ones are about by resets. */
  async function shorten(line: Line): Promise<void> {
    const { name } = line.hook;
    line.isFull = false;
    for await (const page of unsentPages(outbox, name)) {
      const segments = new Set(page.flatMap(({ entity, segment }) => (entity === SEGMENT ? [] : segment)));
      if (segments.size === 0) continue;
      await resetSegments(outbox, name, segments, clock());
      log.warn(
        { hook: name, segments: segments.size },
        "a hook is away for long: it is told to read the members of segments again",
      );
      return;
    }
  }

  /** Begins a request if one is due. Resolves with the ms until the next call. */
  async function next(line: Line): Promise<number> {
    const { hook, requests } = line;
    if (mayCall() && line.isFull) await shorten(line);
    if (!mayCall() || performance.now() < line.notBefore) return POLL_MS;
    if (requests.size >= AT_ONCE) await Promise.race([...requests].map(({ ended }) => ended));
    line.isReady ||= await tellMembers(dependencies, hook, (await hookStates(facts))[hook.name]);
    if (!line.isReady) return 0;
    const opened = await choose(line);
    if (opened.length === 0) return POLL_MS;
    const request = { rows: opened.map(({ row }) => row), ended: call(line, opened) };
    requests.add(request);
    void request.ended.then(() => requests.delete(request));
    return 0;
  }

  /**
   * Returns the oldest changes that must wait for no other, with their events. A change waits until an earlier one of
   * the same person and segment is taken. One of a whole segment waits for all earlier ones of the segment, and all
   * later ones wait for it.
   */
  async function choose({ hook, requests }: Line): Promise<OpenedEvent[]> {
    const sent = inFlight(requests);
    const busy = new Set(sent.map(({ entity }) => entity));
    const keys = new Set<string>();
    const segments = new Set(sent.map(({ segment }) => segment));
    const barred = new Set(sent.flatMap(({ entity, segment }) => (entity === SEGMENT ? segment : [])));
    const isFree = ({ entity, segment }: OutboxRow) => {
      const key = `${entity}/${segment}`;
      const isOfSegment = entity === SEGMENT;
      const waits = barred.has(segment) || (isOfSegment ? segments.has(segment) : busy.has(entity) || keys.has(key));
      if (isOfSegment) barred.add(segment);
      segments.add(segment);
      keys.add(key);
      return !waits;
    };
    for await (const page of unsentPages(outbox, hook.name)) {
      const events = await openEvents(dependencies, hook, page.filter(isFree), busy);
      if (events.length > 0) return events;
    }
    return [];
  }

  /** Sends those events that are still stored, and stores the outcome until it is stored. Never rejects. */
  async function call(line: Line, opened: readonly OpenedEvent[]): Promise<void> {
    const { name } = line.hook;
    if (!mayCall()) return;
    const ids = opened.map(({ row }) => row.id);
    let claim: Promise<ReadonlySet<string>> = Promise.resolve(new Set());
    let problem: string | undefined;
    try {
      await calls.get(name)?.(async () => {
        claim = outbox.claim(ids);
        const claimed = await claim;
        failpoint("hook-claimed");
        return opened.flatMap(({ row, event }) => (claimed.has(row.id) ? event : []));
      });
      failpoint("hook-answered");
    } catch (error) {
      problem = error instanceof TargetError ? error.message : `${name} failed`;
      log.warn({ hook: name, problem }, "a hook did not take its events; retrying later");
    }
    // A claim that failed may be stored.
    const claimed = await claim.catch(() => new Set(ids));
    await ended(() => (problem === undefined ? taken(opened, claimed) : outbox.release([...claimed])));
    const now = performance.now();
    // Requests that failed together count once.
    if (problem === undefined) line.failures = 0;
    else if (now >= line.notBefore) {
      line.failures += 1;
      line.notBefore = now + retryDelay(line.failures, true);
    }
    await answered(line, problem).catch((error: unknown) =>
      log.warn({ err: error }, "the state of a hook is not stored"),
    );
  }

  /**
   * Removes changes that the hook has taken. One of a whole segment is repeated if an earlier change of the segment was
   * stored since: its commit did not see that one, and the hook may have read its result.
   */
  async function taken(opened: readonly OpenedEvent[], claimed: ReadonlySet<string>): Promise<void> {
    const repeated: string[] = [];
    for (const { row } of opened)
      if (row.entity === SEGMENT && claimed.has(row.id) && (await isPreceded(row))) repeated.push(row.id);
    await outbox.remove([...claimed].filter((id) => !repeated.includes(id)));
    if (repeated.length > 0) await outbox.release(repeated);
  }

  async function isPreceded({ hook, segment, generation }: OutboxRow): Promise<boolean> {
    for await (const earlier of earlierPages(outbox, hook, generation))
      if (earlier.some((row) => row.segment === segment)) return true;
    return false;
  }

  /** Returns the changes in these requests. */
  const inFlight = (requests: Line["requests"]) => [...requests].flatMap(({ rows }) => rows);

  async function ended(store: () => Promise<void>): Promise<void> {
    await retry(store, () => PAUSE_MS, stopping.signal).catch(() => {});
  }

  async function answered(line: Line, problem: string | undefined): Promise<void> {
    const { hook, answer } = line;
    const at = clock();
    if (answer !== undefined && answer.problem === problem && Math.abs(at - answer.at) < STORE_ANSWER_MS) return;
    line.answer = { at, problem };
    const outcome = problem === undefined ? { takenAt: at, problem } : { problem };
    await changeStates(facts, (states) => ({ ...states, [hook.name]: { ...states[hook.name], ...outcome } }));
  }

  function repeated(work: () => Promise<number>): Background {
    return inBackground(() =>
      work().catch((error: unknown) => {
        log.warn({ err: error }, "sending events to hooks failed; retrying");
        return PAUSE_MS;
      }),
    );
  }

  return {
    start() {
      if (hooks.length === 0) return void forgetOthers().catch(() => {});
      background.push(repeated(lead), repeated(bound), ...lines.map((line) => repeated(() => next(line))));
    },
    async stop() {
      stopping.abort();
      await Promise.all(background.map((task) => task.stop()));
      await requestsEnded();
    },
  };
}
