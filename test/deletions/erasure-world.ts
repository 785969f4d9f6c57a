import { createHash, randomBytes } from "node:crypto";
import { monotonicClock } from "../../src/clock.js";
import { collectMessages } from "../../src/entities/collect/collect-messages.js";
import { type Table, tableNamed, tablesOf } from "../../src/entities/profile/entity-tables.js";
import type { Identity } from "../../src/entities/profile/identity.js";
import { identityHashing } from "../../src/entities/profile/identity-hash.js";
import { readEntity } from "../../src/entities/read/read-entity.js";
import { currentRules } from "../../src/segments/current-rules.js";
import type { Stores } from "../../src/stores/stores.js";
import { type HeldCalls, portsThrough } from "../support/held-calls.js";
import { endless, opening } from "../support/opening.js";
import { deletionsOver, runDue, runNow } from "./erasure-stage.js";

/** A message as a test words it; an identity is `field:value`. */
export interface ModelMessage {
  readonly identities: readonly string[];
  /** The event time that it names; undefined: none. */
  readonly time: number | undefined;
  readonly arrival: number;
  /** Its request under an idempotency key, which may be repeated; undefined for others. */
  readonly key?: string | undefined;
  /** null removes the attribute. */
  readonly attribute: readonly [name: string, value: number | null];
  /** A segment that the entity is in from then on. */
  readonly segment: string | undefined;
}

/** The profile that a read of an identity returns; undefined if there is none. */
export type Seen = { identities: string[]; attributes: Record<string, number>; segments: string[] } | undefined;

/** Writers, readers and erasers of one process over the real ports; `calls` can hold them at each call. */
export interface Process {
  /** Runs a request now, also one that waits for its next try. */
  run(requestId: string): Promise<void>;
  /** Runs due requests once. */
  runDue(): Promise<void>;
  replay(): Promise<void>;
  collect(message: ModelMessage): Promise<void>;
  delete(identity: string): Promise<string>;
  /** Adds the segment unless it is there, and deletes it. */
  deleteSegment(id: string): Promise<void>;
  read(identity: string): Promise<Seen>;
  hashOf(identity: string): string;
}

const PORTS = [
  "ledger",
  "suppression",
  "entities",
  "history",
  "memberships",
  "entityKeys",
  "catalogue",
  "idempotency",
] as const;
/** No field is protected: messages merge any profiles. */
const tables = tablesOf([{ name: "user", identities: ["email", "user_id"], protected: [] }]);
const table: Table = tableNamed(tables, "user");

/** Opens a process over these stores. The ids that it gives to profiles and messages are added to `made`. */
export function openProcess(stores: Stores, clock: () => number, calls?: HeldCalls, made: string[] = []): Process {
  const own = calls === undefined ? stores : portsThrough(stores, PORTS, calls.around);
  const hashIdentity = identityHashing(stores.pepper);
  const newId = () => {
    const id = randomBytes(16).toString("hex");
    made.push(id);
    return id;
  };
  const profiles = {
    ...own,
    ...opening(),
    segments: own.catalogue,
    hashIdentity,
    clock,
    newId,
    countTaken: () => {},
    countLeftOut: () => {},
    countDecisions: () => {},
    rules: currentRules(own.catalogue),
  };
  const deletions = deletionsOver(own, { clock });
  const collect = collectMessages(profiles);

  return {
    run: (requestId) => runNow(stores.ledger, deletions, requestId),
    runDue: () => runDue(stores.ledger, deletions, clock),
    replay: deletions.replay,

    async collect({ identities, time, arrival, key, attribute, segment }) {
      const request = key === undefined ? undefined : { id: key, arrival, digest: "", tally: "" };
      const stored = request && (await own.idempotency.begin(request)).stored;
      const first = stored?.arrival ?? arrival;
      const message = {
        identities: identities.map(identityOf),
        attributes: [attribute],
        segments: segment === undefined ? undefined : { add: [segment], remove: [], full: false },
        body: {},
      };
      const version = { time: time ?? first, arrival: first, position: 0 };
      const possiblyStoredSince = first === arrival ? undefined : stored?.began;
      const id = key === undefined ? newId() : createHash("sha256").update(key).digest("hex").slice(0, 32);
      const hashes = message.identities.map((identity) => hashIdentity(table.name, identity));
      const late = new AbortController().signal;
      await collect([{ id, possiblyStoredSince, version, weight: 1, message, table, stream: "web", hashes, late }]);
    },

    delete: (identity) => deletions.accept("user", identityOf(identity)),

    async deleteSegment(id) {
      await own.catalogue.putSegment({ id, name: id, table: "user" });
      await own.catalogue.deleteSegment(id, clock());
    },

    hashOf: (identity) => hashIdentity("user", identityOf(identity)),

    async read(identity) {
      const profile = await readEntity(profiles, table, identityOf(identity), { segments: true }, endless());
      if (profile === undefined) return undefined;
      const attributes = Object.fromEntries([...profile.attributes].sort(([a], [b]) => (a < b ? -1 : 1)));
      const { email = [], user_id = [], ...rest } = attributes as Record<string, string[] | number>;
      const identities = [
        ...[email].flat().map((value) => `email:${value}`),
        ...[user_id].flat().map((value) => `user_id:${value}`),
      ].sort();
      return { identities, attributes: rest as Record<string, number>, segments: [...(profile.segments ?? [])] };
    },
  };
}

/** Arrivals of the virtual clock. */
export function virtualClock() {
  let time = 1_800_000_000_000;
  const clock = () => time;
  const now = monotonicClock(clock);
  return {
    clock,
    now,
    pass(ms: number) {
      time += ms;
    },
  };
}

function identityOf(word: string): Identity {
  const [field = "", value = ""] = word.split(":");
  return { field, value };
}
