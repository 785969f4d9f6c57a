import { hash } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../clock.js";
import { type Hook, isMember, type Outbox, type OutboxRow, SEGMENT } from "../../entities/outbox.js";
import type { EntityStore, LoadedEntities } from "../../entities/ports.js";
import { valuesByField } from "../../entities/profile/identity.js";
import { timeText } from "../../formats/instant.js";
import { randomId } from "../../ids.js";
import { type DeletionSubject, type DownstreamTarget, TargetError } from "../ports.js";
import { CALL_MS, checkUrl, ignoreBody, post, type RemoteSystem } from "./remote-call.js";

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

/**
 * Events are sent within this time of the call of the function that returns them, or not at all, ms. Longer than the
 * writes of a slow store.
 */
export const CALL_BEGINS_MS = 2_000;

/** Concurrent requests to a hook, with changes or the `left` of deletions. */
export const AT_ONCE = 4;

/** Maximum events of a request. */
export const MAX_EVENTS = 500;

export interface HookCallDependencies extends Pick<RemoteSystem, "stopping" | "callMs" | "agent"> {
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
  const { clock, sign, ...others } = dependencies;
  const { Agent } = url.startsWith("https:") ? https : http;
  const calls = { agent: new Agent({ maxSockets: AT_ONCE }), ...others };
  checkUrl(`hooks is wrong: ${name}`, url);
  return async (claim) => {
    const make = async () => {
      const until = performance.now() + CALL_BEGINS_MS;
      const events = await claim();
      if (events.length === 0) return undefined;
      const head = { hook: name, id: randomId(), sent_at: timeText(clock()) };
      const body = JSON.stringify({ ...head, events });
      const signature = await sign({ ...head, sha256: hash("sha256", body) });
      if (performance.now() > until) throw new TargetError(name, "was not called in time");
      return { body, headers: { "x-signature": signature } };
    };
    await post({ name, token, ...calls }, url, make, ignoreBody);
  };
}

/** Returns the id of an event that these parts identify. */
export function eventId(...parts: readonly (string | number)[]): string {
  return hash("sha256", JSON.stringify(parts)).slice(0, 32);
}

export interface HookTargetDependencies {
  readonly outbox: Pick<Outbox, "of" | "addMembers">;
  readonly entities: Pick<EntityStore, "find" | "load">;
  readonly clock: Clock;
}

/**
 * Returns the hook as a target: it receives `left` once no request with the person is in flight and no change of a
 * whole segment waits. Until it has taken that, it may have people whose own changes a reset or a deletion replaced.
 */
export function hookTarget(
  { name }: Hook,
  send: SendEvents,
  { outbox, entities, clock }: HookTargetDependencies,
): DownstreamTarget {
  /**
   * Adds a `joined` of those who have the identities of the erased person now: the `left` has removed them as well.
   */
  async function tellReturned({ hashes, left }: DeletionSubject): Promise<void> {
    for (let page: LoadedEntities = await entities.find(hashes); ; page = await entities.load(page.left)) {
      for (const segment of left[name] ?? []) {
        const members = [...page.profiles.values()].filter((profile) => isMember(profile, segment));
        const ids = members.map(({ id }) => id);
        if (ids.length > 0) await outbox.addMembers({ hook: name, segment, at: clock(), cancels: false }, ids);
      }
      if (page.left.length === 0) return;
    }
  }

  return {
    name,
    remote: true,
    isTold: true,

    async erase(subject) {
      const { requestId, table, cutOff, identities, entities: ids, left } = subject;
      // Without a profile the hook has no entry of the person.
      if (ids.every((id) => id === requestId)) return;
      const until = performance.now() + CALL_MS;
      const isBefore = ({ hook, entity, state }: OutboxRow) =>
        hook === name && (entity === SEGMENT || state === "sending");
      while ((await outbox.of([SEGMENT, ...ids])).some(isBefore)) {
        if (performance.now() > until) throw new TargetError(name, "has not taken an earlier request");
        await sleep(LOOK_MS);
      }
      const common = { at: timeText(cutOff), table, identities: Object.fromEntries(valuesByField(identities)) };
      const events = (left[name] ?? []).map((segment): HookEvent => {
        return { id: eventId(name, segment, requestId), segment, change: "left", ...common };
      });
      for (let from = 0; from < events.length; from += MAX_EVENTS)
        await send(async () => events.slice(from, from + MAX_EVENTS));
      if (events.length > 0) await tellReturned(subject);
    },

    verify: async () => true,
  };
}
