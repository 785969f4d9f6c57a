import { eachPage } from "../async/pages.js";
import { type Background, inBackground, retry } from "../async/retry.js";
import { yieldWhenDue } from "../async/yielding.js";
import { retryDelay } from "../deletions/deletion.js";
import { TargetError } from "../deletions/ports.js";
import { MAX_EVENTS, type SendEvents } from "../deletions/targets/hook.js";
import { CALL_MS } from "../deletions/targets/remote-call.js";
import { concerns, type Hook, type Outbox, type OutboxRow } from "../entities/outbox.js";
import type { EntityStore } from "../entities/ports.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import { changeStates, hookStates } from "./hook-states.js";
import { eventOf, type OpenEventDependencies, type OpenedEvent, openEvents } from "./open-events.js";
import { type TellMembersDependencies, tellMembers } from "./tell-members.js";

export interface SenderDependencies extends TellMembersDependencies, OpenEventDependencies {
  readonly hooks: readonly Hook[];
  readonly outbox: Outbox;
  readonly entities: Pick<EntityStore, "find" | "load">;
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
/** Concurrent requests of a hook. */
const AT_ONCE = 4;
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
  failures: number;
  notBefore: number;
  answer: { readonly at: number; readonly problem: string | undefined } | undefined;
}

/** Sends the changes in the outbox to hooks. Only one of several senders over the same stores is active at a time. */
export function hookSender(dependencies: SenderDependencies): { start(): void; stop(): Promise<void> } {
  const { hooks, outbox, entities, facts, calls, lease, clock, log, failpoint } = dependencies;
  const { maxRows = MAX_ROWS } = dependencies;
  const lines = hooks.map((hook): Line => {
    return { hook, requests: new Set(), isReady: false, failures: 0, notBefore: 0, answer: undefined };
  });
  let leads = Number.NEGATIVE_INFINITY;
  let isKnown = false;
  let isReleased = false;
  const background: Background[] = [];
  const stopping = new AbortController();

  /** Until this time of `performance.now` a call may begin. */
  const mayCall = () => performance.now() < leads;

  async function lead(): Promise<number> {
    const names = hooks.map(({ name }) => name);
    if (!isKnown) await forgetOthers(names);
    isKnown = true;
    const since = performance.now();
    const result = await lease();
    if (result === "refused") return RENEW_MS;
    if (result === "taken") isReleased = false;
    if (!isReleased) {
      // Calls of the sender before have ended with its lease.
      await Promise.all(lines.flatMap(({ requests }) => [...requests].map(({ ended }) => ended)));
      await outbox.release();
      isReleased = true;
    }
    leads = since + HOOK_LEASE_MS - CALL_MS;
    return RENEW_MS;
  }

  /** Forgets hooks that are not configured any more: if they are again, they are new. */
  async function forgetOthers(names: readonly string[]): Promise<void> {
    await outbox.keepOnly(names);
    await changeStates(facts, (states) =>
      Object.fromEntries(Object.entries(states).filter(([name]) => names.includes(name))),
    );
  }

  /** Replaces the oldest rows of the hook with the most rows by resets of their segments. */
  async function bound(): Promise<number> {
    while (mayCall()) {
      const counts = await Promise.all(hooks.map(({ name }) => outbox.count(name)));
      if (counts.reduce((sum, { waiting }) => sum + waiting, 0) <= maxRows) break;
      const most = counts.reduce((first, { waiting }, at) => (waiting > (counts[first]?.waiting ?? 0) ? at : first), 0);
      const { name } = hooks[most] as Hook;
      const oldest = await outbox.page(name, undefined, MAX_EVENTS);
      if (oldest.length === 0) break;
      for (const segment of new Set(oldest.map((row) => row.segment))) {
        while (await outbox.reset(name, segment, clock())) await yieldWhenDue();
        log.warn({ hook: name, segment }, "a hook is away for long: it is told to read the members of a segment again");
      }
    }
    return CHECK_EVERY_MS;
  }

  /** Begins a request if one is due. Resolves with the ms until the next call. */
  async function next(line: Line): Promise<number> {
    const { hook, requests } = line;
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

  /** Returns the oldest changes of which no person and no segment is in the way, with their events. */
  async function choose({ hook, requests }: Line): Promise<OpenedEvent[]> {
    const inFlight = [...requests].flatMap(({ rows }) => rows);
    const busy = new Set(inFlight.map(({ entity }) => entity));
    const busySegments = new Set(inFlight.map(({ segment }) => segment));
    const waiting = await outbox.ofSegments(hook.name);
    // Changes of people wait until the hook has received the change of their whole segment.
    const barred = new Set(inFlight.flatMap(({ entity, segment }) => (entity === "" ? segment : [])));
    for (const { segment } of waiting) if (busySegments.has(segment)) barred.add(segment);
    const ready = (await withoutVoid(hook, waiting)).filter(({ segment }) => !busySegments.has(segment));
    const events = ready.slice(0, MAX_EVENTS).map((row) => ({ row, event: eventOf(row, hook.name) }));
    if (ready.length > events.length) return events;
    const pages = eachPage<OutboxRow>((last, limit) => outbox.page(hook.name, last, limit), MAX_EVENTS);
    // The second change of a person and segment is sent after the first has been taken.
    const keys = new Set<string>();
    for await (const page of pages) {
      const free = (await withoutVoid(hook, page)).filter(({ entity, segment }) => {
        const key = `${entity}/${segment}`;
        if (busy.has(entity) || barred.has(segment) || keys.has(key)) return false;
        return keys.add(key).size > 0;
      });
      events.push(...(await openEvents(dependencies, hook, free, busy)).slice(0, MAX_EVENTS - events.length));
      if (events.length > 0) break;
    }
    return events;
  }

  /** Removes changes that no longer concern the hook or are older than their segment, and returns the others. */
  async function withoutVoid(hook: Hook, rows: readonly OutboxRow[]): Promise<OutboxRow[]> {
    if (rows.length === 0) return [];
    const { deletions } = await entities.find([], 0, [...new Set(rows.map(({ segment }) => segment))]);
    const isVoid = ({ segment, generation }: OutboxRow) =>
      !concerns(hook, segment) || generation < (deletions.bySegment.get(segment)?.generation ?? 0);
    const gone = rows.filter(isVoid);
    if (gone.length > 0) await outbox.remove(gone.map(({ id }) => id));
    return rows.filter((row) => !isVoid(row));
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
    const claimed = await claim.catch(() => ids);
    await ended(() => (problem === undefined ? outbox.remove([...claimed]) : outbox.release([...claimed])));
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
      if (hooks.length === 0) return void forgetOthers([]).catch(() => {});
      background.push(repeated(lead), repeated(bound), ...lines.map((line) => repeated(() => next(line))));
    },
    async stop() {
      stopping.abort();
      await Promise.all(background.map((task) => task.stop()));
      await Promise.all(lines.flatMap(({ requests }) => [...requests].map(({ ended }) => ended)));
    },
  };
}
