import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../clock.js";
import { type Hook, type Outbox, type OutboxRow, SEGMENT } from "../../entities/outbox.js";
import { valuesByField } from "../../entities/profile/identity.js";
import { timeText } from "../../formats/instant.js";
import { randomId } from "../../ids.js";
import { type DownstreamTarget, TargetError } from "../ports.js";
import { CALL_MS, checkUrl, postOnConnection, type RemoteSystem } from "./remote-call.js";

/** The JSON of a change in the request to a hook; without `identities` it is about the whole segment. */
export interface HookEvent {
  /** The same in each request with this change. */
  readonly id: string;
  readonly segment: string;
  readonly change: OutboxRow["change"];
  readonly at: string;
  readonly table?: string;
  /** Values by field. */
  readonly identities?: Readonly<Record<string, readonly string[]>>;
  readonly attributes?: object;
}

/** Pause between two looks at requests in flight, ms. */
export const LOOK_MS = 50;

/** Events are sent within this time of the call of the function that returns them, or not at all, ms. */
export const CALL_BEGINS_MS = 500;

/** Maximum events of a request. */
export const MAX_EVENTS = 500;

export interface HookCallDependencies extends Pick<RemoteSystem, "stopping" | "callMs"> {
  readonly clock: Clock;
  /** Returns a compact JWS over these claims, with the key of receipts. */
  sign(claims: object): Promise<string>;
}

/**
 * Sends the events that `claim` returns, which is called on an open connection. Resolves when the hook has them, or if
 * there are none; rejects with a `TargetError`, or with the `ServiceError` of `claim`.
 */
export type SendEvents = (claim: () => Promise<readonly HookEvent[]>) => Promise<void>;

/** Returns the calls of a hook. Throws a `StartError` when its address is not safe for identities. */
export function hookCalls({ name, url, token }: Hook, dependencies: HookCallDependencies): SendEvents {
  const { clock, sign, ...calls } = dependencies;
  checkUrl(`hooks is wrong: ${name}`, url);
  return (claim) =>
    postOnConnection({ name, token, ...calls }, url, async () => {
      const until = performance.now() + CALL_BEGINS_MS;
      const events = await claim();
      if (events.length === 0) return undefined;
      const head = { hook: name, id: randomId(), sent_at: timeText(clock()) };
      const body = JSON.stringify({ ...head, events });
      const signature = await sign({ ...head, sha256: hash("sha256", body) });
      if (performance.now() > until) throw new TargetError(name, "was not called in time");
      return { body, headers: { "x-signature": signature } };
    });
}

/** Returns the id of an event that these parts identify. */
export function eventId(...parts: readonly (string | number)[]): string {
  return hash("sha256", JSON.stringify(parts)).slice(0, 32);
}

/** Returns the hook as a target: it receives `left` once no request with the person, or a segment, is in flight. */
export function hookTarget({ name }: Hook, send: SendEvents, outbox: Pick<Outbox, "of">): DownstreamTarget {
  return {
    name,
    remote: true,
    isTold: true,

    async erase({ requestId, table, cutOff, entities, identities, left }) {
      const until = performance.now() + CALL_MS;
      // With a reset in flight, the hook may have read the members before the acceptance.
      while (
        (await outbox.of([SEGMENT, ...entities])).some(({ hook, state }) => hook === name && state === "sending")
      ) {
        if (performance.now() > until) throw new TargetError(name, "has not answered an earlier request");
        await sleep(LOOK_MS);
      }
      const common = { at: timeText(cutOff), table, identities: Object.fromEntries(valuesByField(identities)) };
      const events = (left[name] ?? []).map((segment): HookEvent => {
        return { id: eventId(name, segment, requestId), segment, change: "left", ...common };
      });
      for (let from = 0; from < events.length; from += MAX_EVENTS)
        await send(async () => events.slice(from, from + MAX_EVENTS));
    },

    verify: async () => true,
  };
}
