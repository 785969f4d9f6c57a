import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { type Clock, monotonicClock } from "../../src/clock.js";
import { type CollectDependencies, collectMessages, weightOf } from "../../src/entities/collect/collect-messages.js";
import { collectRequest } from "../../src/entities/collect/collect-request.js";
import { type MessageRules, parseMessage } from "../../src/entities/collect/parse-message.js";
import type { LedgerPosition } from "../../src/entities/ports.js";
import type { StoredEntity } from "../../src/entities/profile/entity.js";
import { type IdentityField, type Table, tableNamed, tablesOf } from "../../src/entities/profile/entity-tables.js";
import { type HashIdentity, identityField, identityOf } from "../../src/entities/profile/identity.js";
import { identityHashing } from "../../src/entities/profile/identity-hash.js";
import { readEntity } from "../../src/entities/read/read-entity.js";
import { parsedBytes } from "../../src/formats/json-size.js";
import { currentRules } from "../../src/segments/current-rules.js";
import type { Stores } from "../../src/stores/stores.js";
import { endless, opening } from "./opening.js";
import { temporaryStores } from "./stores.js";

export const shippedTables = tablesOf(
  JSON.parse(readFileSync(new URL("../../config/tables.json", import.meta.url), "utf8")),
);

export const userTable: Table = tableNamed(shippedTables, "user");

/** Reads messages as the route does, with the event time in `at` (Unix ms). */
export function messageRules(table: Table = userTable): MessageRules {
  return {
    table,
    timestampField: "at",
    onlyField: undefined,
    nesting: 16,
  };
}

/** An instant in the year 2020, that all messages of a test are before or after. */
export const LONG_AGO = Date.UTC(2020, 0, 1);

export interface EntityStage {
  readonly stores: Stores;
  readonly arrivalClock: Clock;
  readonly hashIdentity: HashIdentity;
  /**
   * Collects messages as one batch; returns the codes of refused ones. Ids by position make it repeatable, and a repeat
   * of the first request unless `possiblyStoredSince` is given.
   */
  collect(
    messages: readonly object[],
    options?: {
      ids?: readonly string[];
      possiblyStoredSince?: LedgerPosition | undefined;
      stream?: string;
      bytes?: number;
      late?: AbortSignal;
    },
  ): Promise<string[]>;
  /** Takes in messages as JSON, as one request does that cuts them into batches; returns the codes of those refused. */
  request(messages: readonly object[], arrivalClock?: Clock): Promise<string[]>;
  /** Attributes and segments of a profile in one object; undefined without a profile. */
  read(field: string, value: string): Promise<Record<string, unknown> | undefined>;
  /** Returns the stored profile with this `_uid`. */
  stored(uid: string): Promise<StoredEntity>;
  /** Counted messages of a stream. */
  counted(stream?: string): Promise<number>;
  close(): Promise<void>;
}

/** Segments of an entity, as the service is shipped. */

/** The ports through which profiles are written. */
export const PROFILE_PORTS = ["entities", "memberships", "history", "entityKeys", "suppression"] as const;

/** Collecting and reading over the embedded engine. `wrap` puts something between collecting and a port. */
export async function entityStage(
  wrap: (stores: Stores) => Partial<Stores & CollectDependencies> = () => ({}),
  opened?: Stores,
): Promise<EntityStage> {
  const stores = opened ?? (await temporaryStores());
  const common = {
    ...opening(),
    segments: stores.catalogue,
    hashIdentity: identityHashing(stores.pepper),
    clock: Date.now,
    newId: () => randomBytes(16).toString("hex"),
  };
  const plain = { ...stores, ...common };
  const counters = { countTaken: () => {}, countLeftOut: () => {}, countDecisions: () => {} };
  const rules = currentRules(stores.catalogue);
  const take = collectMessages({ ...stores, ...counters, rules, ...wrap(stores), ...common });
  const now = monotonicClock(Date.now);
  const never = new AbortController().signal;

  return {
    stores,
    arrivalClock: now,
    hashIdentity: common.hashIdentity,
    async collect(messages, { ids, stream = "web", bytes = 100, late = never, ...repeated } = {}) {
      const possiblyStoredSince = "possiblyStoredSince" in repeated ? repeated.possiblyStoredSince : ids && "";
      const arrival = now();
      const batch = messages.map((json, position) => {
        const { time = arrival, ...message } = parseMessage(json, messageRules());
        const id = ids?.[position] ?? common.newId();
        const version = { time, arrival, position };
        const hashes = message.identities.map((identity) => common.hashIdentity("user", identity));
        const weight = weightOf(bytes, message);
        return { id, possiblyStoredSince, version, weight, message, table: userTable, stream, hashes, late };
      });
      const outcomes = await take(batch);
      return batch.flatMap(({ message }) => outcomes.get(message)?.issue?.code ?? []);
    },
    async request(messages, arrivalClock = now) {
      const items = messages.map((json) => {
        const text = JSON.stringify(json);
        return {
          text,
          bytes: parsedBytes(text),
          parse: () => parseMessage(json, messageRules()),
          place: (path: string) => path,
        };
      });
      const deps = { ...plain, collect: take, check: take, countRejected() {}, arrivalClock, hashRequest: String };
      const { errors } = await collectRequest(deps, {
        stream: "web",
        table: userTable,
        items: Readable.from([items]),
        memory: endless(),
        late: never,
        repeatName: undefined,
        dryRun: false,
      });
      return errors.map(({ code }) => code);
    },
    async read(field, value) {
      const identity = identityOf(userTable, identityField(userTable, field) as IdentityField, value);
      const profile = await readEntity(plain, userTable, identity, { segments: true }, endless());
      return profile && { ...Object.fromEntries(profile.attributes), segments: profile.segments };
    },
    async stored(uid) {
      const hash = common.hashIdentity("user", { field: "_uid", value: uid });
      const { profiles } = await stores.entities.find([hash]);
      const [entity] = profiles.values();
      if (entity === undefined) throw new Error(`no profile has the _uid ${uid}`);
      return entity;
    },
    async counted(stream = "web") {
      const counts = await stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 9999);
      return counts.filter((count) => count.stream === stream).reduce((sum, { count }) => sum + count, 0);
    },
    close: () => stores.close(),
  };
}
