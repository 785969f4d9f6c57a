import { setTimeout as sleep } from "node:timers/promises";
import type { RealService } from "../../support/real-service.js";
import { type Answer, ask } from "./ask.js";

/** Requests of clients of two processes, by outcome: acknowledged, or unsure. */
export interface Known {
  /** Collected by an acknowledged request, or by one without an acknowledgement. */
  readonly people: Map<string, "acknowledged" | "unsure">;
  /** Request ids of acknowledged deletions, by person. */
  readonly deletions: Map<string, string>;
  /** A DELETE of theirs was not acknowledged. */
  readonly maybeErased: Set<string>;
  /** Messages, by stream. */
  readonly messages: Map<string, { acknowledged: number; unsure: number }>;
  /** Latest acknowledged version of the person that a client writes repeatedly. */
  readonly versions: Map<string, number>;
  /** Points of each client, by slot. */
  readonly points: Map<number, Map<number, { readonly value: number; readonly acknowledged: boolean }>>;
  /** Number of requests served, by kind and process: `collect 0`. */
  readonly served: Map<string, number>;
  /** Responses that are neither right nor 503 with Retry-After in time. */
  readonly wrong: Wrong[];
}

interface Wrong {
  readonly what: string;
  readonly requestId: string | null;
}

export interface SteadyLoad {
  readonly known: Known;
  /** Resolves when no request is in progress. */
  stop(): Promise<void>;
}

export const KINDS = ["collect", "points", "keyed collect", "read", "DELETE"] as const;
export const POINTS_FROM = Date.UTC(2020, 0, 1);
export const HOUR = 3_600_000;

const CLIENTS = 10;
/** Pause between two requests of a client, ms: bounds the data that is compared at the end. */
const PAUSE_MS = 100;
const PEOPLE_AT_ONCE = 3;

/** Begins to ask for each kind of thing through both processes in turn; the messages are of the event time `at`. */
export function startLoad(apis: readonly [RealService, RealService], at: number): SteadyLoad {
  const known: Known = {
    people: new Map(),
    deletions: new Map(),
    maybeErased: new Set(),
    messages: new Map(),
    versions: new Map(),
    points: new Map(),
    served: new Map(),
    wrong: [],
  };
  let stopped = false;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let turn = 0; !stopped; turn += 1) {
      await act({ apis, known, at: new Date(at).toISOString() }, client, turn);
      await sleep(PAUSE_MS);
    }
  });
  return {
    known,
    async stop() {
      stopped = true;
      await Promise.all(clients);
    },
  };
}

interface Stage {
  readonly apis: readonly [RealService, RealService];
  readonly known: Known;
  readonly at: string;
}

async function act(stage: Stage, client: number, turn: number): Promise<void> {
  const round = Math.floor(turn / KINDS.length);
  const through = (client + turn) % 2;
  const kind = KINDS[turn % KINDS.length] as (typeof KINDS)[number];
  const served = await actions[kind](stage, { client, round, through });
  const name = `${kind} ${through}`;
  if (served) stage.known.served.set(name, (stage.known.served.get(name) ?? 0) + 1);
}

interface Turn {
  readonly client: number;
  readonly round: number;
  /** Index of the process. */
  readonly through: number;
}

/** Each resolves with whether it was served. */
const actions: Record<(typeof KINDS)[number], (stage: Stage, turn: Turn) => Promise<boolean>> = {
  /** New people, in a request that is not repeated. */
  async collect(stage, { client, round, through }) {
    const people = Array.from({ length: PEOPLE_AT_ONCE }, (_, index) => personOf(client, round, index));
    for (const person of people) stage.known.people.set(person, "unsure");
    const messages = people.map((person) => messageOf(person, stage.at));
    const answer = await collect(stage, through, "plain", messages);
    count(stage.known, "plain", answer.served ? "acknowledged" : "unsure", messages.length);
    if (answer.served) for (const person of people) stage.known.people.set(person, "acknowledged");
    return answer.served;
  },

  /** A known person and a new one, in a request that is repeated under its Idempotency-Key until it is acknowledged. */
  async "keyed collect"(stage, { client, round, through }) {
    const person = personOf(client, round, "keyed");
    const regular = regularOf(client);
    const messages = [{ ...messageOf(regular, stage.at), version: round }, messageOf(person, stage.at)];
    let answer = await collect(stage, through, "keyed", messages, person);
    const served = answer.served;
    for (let tries = 1; !answer.served; tries += 1) {
      if (tries > MAX_TRIES) {
        stage.known.wrong.push({ what: `the last of ${tries} tries: ${answer.text}`, requestId: answer.requestId });
        return false;
      }
      await sleep(PAUSE_MS);
      answer = await collect(stage, (through + tries) % 2, "keyed", messages, person, tries);
    }
    count(stage.known, "keyed", "acknowledged", messages.length);
    stage.known.people.set(person, "acknowledged");
    stage.known.people.set(regular, "acknowledged");
    stage.known.versions.set(regular, round);
    return served;
  },

  async points({ apis, known }, { client, round, through }) {
    const value = client * 100_000 + round;
    const written = known.points.get(client) ?? new Map();
    known.points.set(client, written.set(round, { value, acknowledged: false }));
    const point = { dimension: "stream", dimension_id: pointsOf(client), dimension_type: "size" };
    const json = [{ ...point, value, ts: POINTS_FROM + round * HOUR }];
    const answer = await ask(apis[through] as RealService, "/api/metric/points", { method: "POST", json });
    note(known, answer, answer.served);
    if (answer.served) written.set(round, { value, acknowledged: true });
    return answer.served;
  },

  /** The known person, through the process that has not written it. */
  async read({ apis, known }, { client, through }) {
    const person = regularOf(client);
    const version = known.versions.get(person);
    const answer = await ask(apis[through] as RealService, `${pathOf(person)}?segments=false`);
    const { data } = answer.body as { data: { version?: number } | null };
    note(known, answer, answer.served ? data?.version === version : answer.status === 404 && version === undefined);
    return answer.served;
  },

  /** One of the people collected in this round; read in the other process at once. */
  async DELETE({ apis, known }, { client, round, through }) {
    const person = personOf(client, round, 0);
    const isKnown = known.people.get(person) === "acknowledged";
    known.maybeErased.add(person);
    const answer = await ask(apis[through] as RealService, pathOf(person), { method: "DELETE" });
    note(known, answer, answer.served);
    if (!answer.served) return false;
    known.deletions.set(person, (answer.body as { data: { request_id: string } }).data.request_id);
    if (!isKnown) return true;
    const after = await ask(apis[1 - through] as RealService, pathOf(person));
    note(known, after, after.status === 404);
    return true;
  },
};

/** A repetition waits for a lease at the most, and for a primary. */
const MAX_TRIES = 600;

async function collect(
  { apis, known }: Stage,
  through: number,
  stream: string,
  messages: readonly object[],
  key?: string,
  tries = 0,
): Promise<Answer> {
  const answer = await ask(apis[through] as RealService, `/collect/json/${stream}?timestamp_field=at`, {
    method: "POST",
    json: messages,
    ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
  });
  const { data } = answer.body as { data: { message_count: number; rejected_count: number } | null };
  const isWhole = data?.message_count === messages.length && data.rejected_count === 0;
  // An earlier request with the same key may still be in progress.
  note(known, answer, answer.served ? isWhole : tries > 0 && answer.status === 409);
  return answer;
}

function note(known: Known, answer: Answer, right: boolean): void {
  if (!right && !answer.mayRepeat) known.wrong.push({ what: answer.text, requestId: answer.requestId });
}

function count(known: Known, stream: string, as: "acknowledged" | "unsure", messages: number): void {
  const counted = known.messages.get(stream) ?? { acknowledged: 0, unsure: 0 };
  counted[as] += messages;
  known.messages.set(stream, counted);
}

function messageOf(person: string, at: string): object {
  return { email: `${person}@example.org`, user_id: person, name: person, segments: ["seen"], at };
}

function personOf(client: number, round: number, which: number | "keyed"): string {
  return `p-${client}-${round}-${which}`;
}

/** The person whom this client writes again and again. */
function regularOf(client: number): string {
  return `regular-${client}`;
}

/** The series of the points of this client. */
export function pointsOf(client: number): string {
  return `points-${client}`;
}

export function pathOf(person: string): string {
  return `/api/entity/user/email/${person}@example.org`;
}
