import { expect } from "chai";
import {
  after,
  afterConcurrent,
  fieldOf,
  noPeople,
  ownerOf,
  type People,
  type PeopleEffect,
  type PeopleMessage,
  type PeopleTable,
} from "../support/people-model.js";
import { deleteEntity, isCompleteIn } from "../support/requests.js";
import type { TestService } from "../support/service.js";
import { until } from "../support/until.js";

export interface SharedTable extends PeopleTable {
  /** Its identities in a history. */
  readonly names: readonly string[];
  readonly configured: object;
}

/** A message of these identities in this order. */
export interface Sent {
  readonly who: readonly number[];
  /** Whether it keeps several values of a protected field; otherwise the first one alone. */
  readonly joins: boolean;
  /** The event time that it names against now; 0: it names none. */
  readonly aheadMs: number;
  /** A value that identifies no one among its identities. */
  readonly placeholder: string | undefined;
}

export type Single =
  | { readonly kind: "send"; readonly messages: readonly Sent[] }
  | { readonly kind: "delete"; readonly who: number };

export type Step =
  | Single
  | { readonly kind: "together"; readonly requests: readonly Single[] }
  | { readonly kind: "alias"; readonly who: number; readonly previous: number }
  | { readonly kind: "repeat"; readonly which: number }
  | { readonly kind: "pass" }
  | { readonly kind: "look" };

/** Time that a step lets pass, ms. */
export const PAUSE_MS = 600_000;

/** The services that a life uses, and their clock. */
export interface LifeWorld {
  /** The next service in turn. */
  readonly service: TestService;
  readonly clock: () => number;
  pass(ms: number): void;
}

interface Tally {
  readonly message_count: number;
  readonly rejected_count: number;
  readonly left_out?: number;
}

/** The profile that a read of an identity shows. */
interface Shown {
  readonly identities: readonly string[];
  readonly messages: readonly number[];
}

/** One history with people of its own, compared with the model. Each message sets an attribute of its own. */
export class Life {
  readonly #world: LifeWorld;
  readonly #table: SharedTable;
  readonly #suffix: string;
  readonly #segment: string;
  /** Every state that agrees with the responses. */
  #possible: readonly People[] = [noPeople];
  /** Bodies as sent, by number. Calls of Segment's API set no attribute and no segment. */
  readonly #bodies: { readonly body: object; readonly isCall: boolean }[] = [];
  /** Identities of each message. */
  readonly #named: (readonly string[])[] = [];
  readonly #repeatable: { readonly key: string; readonly body: string; readonly answer: unknown }[] = [];
  readonly #deletions: string[] = [];
  /** Requests so far, for reports. */
  readonly #past: string[] = [];

  constructor(world: LifeWorld, table: SharedTable, suffix: string) {
    this.#world = world;
    this.#table = table;
    this.#suffix = suffix;
    this.#segment = `life${suffix}`;
  }

  async take(steps: readonly Step[]): Promise<void> {
    for (const one of steps) {
      if (one.kind === "look") await this.#look();
      else if (one.kind === "pass") this.#world.pass(PAUSE_MS);
      else if (one.kind === "repeat") await this.#repeat(one.which);
      else if (one.kind === "alias") await this.#alias(one);
      else await this.#together(one.kind === "together" ? one.requests : [one]);
    }
    await this.#look();
  }

  /** Every deletion completes, and each person has everything of their own and nothing else. */
  async end(): Promise<void> {
    for (const id of this.#deletions) await until("a deletion completes", () => isCompleteIn(this.#world.service, id));
    await this.#look();
    // States that no read tells apart differ in times of deletions alone.
    const [state = noPeople] = this.#possible;
    for (const person of state.people) await this.#checkPerson(person);
    await this.#checkMembers(state);
  }

  async #together(requests: readonly Single[]): Promise<void> {
    const work = requests.map((request) =>
      request.kind === "send" ? this.#send(request.messages) : this.#delete(request.who),
    );
    const results = await Promise.all(work);
    const leftOut = results.reduce((sum, result) => sum + result.leftOut, 0);
    const effects = results.map(({ effects }) => effects);
    this.#past.push(`${leftOut} left out: ${JSON.stringify(effects)}`);
    const [only] = effects;
    this.#possible = this.#possible.flatMap((before) => {
      const states =
        effects.length === 1 && only !== undefined
          ? [only.reduce((people, request) => after(this.#table, people, request), before)]
          : afterConcurrent(this.#table, before, effects);
      return states.filter((people) => people.leftOut - before.leftOut === leftOut);
    });
    if (this.#possible.length === 0) throw new Error(this.#report("The model leaves out another number"));
    if (effects.length > 1) await this.#look();
  }

  async #send(messages: readonly Sent[]) {
    const service = this.#world.service;
    const made = messages.map((message) => this.#messageOf(message));
    const taken = made.flatMap(({ message }) => message ?? []);
    const body = made.map(({ json }) => JSON.stringify(json)).join("\n");
    const key = `${this.#suffix}.${this.#bodies.length}`;
    const answer = await this.#post(service, body, key);
    const { message_count, rejected_count, left_out = 0 } = answer.data;
    expect({ message_count, rejected_count }).to.deep.equal({
      message_count: taken.length,
      rejected_count: made.length - taken.length,
    });
    if ("left_out" in answer.data) expect(left_out).to.be.above(0);
    this.#repeatable.push({ key, body, answer });
    const effects = taken.map((message): PeopleEffect => ({ kind: "message", message }));
    return { leftOut: left_out, effects };
  }

  async #post(service: TestService, body: string, key: string) {
    const response = await service.fetch(`/collect/json/web?timestamp_field=at&table=${this.#table.name}`, {
      method: "POST",
      body,
      headers: { "content-type": "application/x-ndjson", "idempotency-key": key },
    });
    expect(response.status, await response.clone().text()).to.equal(200);
    return (await response.json()) as { readonly data: Tally };
  }

  #messageOf({ who, joins, aheadMs, placeholder }: Sent): { json: object; message: PeopleMessage | undefined } {
    const number = this.#bodies.length;
    const all = [...new Set(who.map((one) => this.#nameOf(one)))];
    const isFirst = (one: string) => one === all.find((other) => fieldOf(other) === fieldOf(one));
    const identities = all.filter((one) => joins || !this.#table.protected.includes(fieldOf(one)) || isFirst(one));
    const time = aheadMs === 0 ? undefined : Math.floor(this.#world.clock() + aheadMs);
    const json: Record<string, unknown> = { [`m${number}`]: number, segments: { add: [this.#segment] } };
    if (time !== undefined) json.at = time;
    for (const [field, values] of valuesByField(identities)) json[field] = values.length === 1 ? values[0] : values;
    if (placeholder !== undefined) {
      const field = fieldOf(identities[0] as string);
      json[field] = [json[field], placeholder].flat();
    }
    this.#bodies.push({ body: json, isCall: false });
    if (placeholder !== undefined) return { json, message: undefined };
    this.#named.push(identities);
    return { json, message: { number, identities, time } };
  }

  async #delete(who: number) {
    const service = this.#world.service;
    const identity = this.#nameOf(who);
    const path = `${this.#table.name}/${fieldOf(identity)}/${encodeURIComponent(valueIn(identity))}`;
    const { response, body } = await deleteEntity(service, path);
    expect(response.status).to.equal(200);
    const id = body.data.request_id;
    this.#deletions.push(id);
    const accepted = await service.fetch(`/api/deletion/${id}`);
    const { data } = (await accepted.json()) as { data: { cut_off: string } };
    return { leftOut: 0, effects: [{ kind: "delete", identity, at: Date.parse(data.cut_off) }] as PeopleEffect[] };
  }

  /** Repeats a request under its key: it has no effect, and its response is the same. */
  async #repeat(which: number): Promise<void> {
    const request = this.#repeatable[which % Math.max(1, this.#repeatable.length)];
    if (request === undefined) return;
    expect(await this.#post(this.#world.service, request.body, request.key)).to.deep.equal(request.answer);
  }

  /** Sends an `alias` of Segment's API, which names a user and a previous user or device. */
  async #alias({ who, previous }: { readonly who: number; readonly previous: number }): Promise<void> {
    if (this.#table.name !== "user") return;
    const users = this.#table.names.filter((name) => fieldOf(name) === "user_id");
    const [userId, previousId] = [users[who % users.length] as string, this.#table.names[previous] as string].map(
      (name) => name.slice(name.indexOf(":") + 1) + this.#suffix,
    );
    const number = this.#bodies.length;
    const body = { userId, previousId, context: { number } };
    this.#bodies.push({ body, isCall: true });
    this.#past.push(`alias ${JSON.stringify(body)}`);
    const answer = await this.#world.service.fetch("/v1/alias", { method: "POST", json: body });
    expect([answer.status, await answer.text()]).to.deep.equal([200, '{"success":true}']);
    this.#possible = this.#possible.map((people) => {
      const isUser = ownerOf(people, `user_id:${previousId}`) !== undefined;
      const identities = [...new Set([`user_id:${userId}`, `${isUser ? "user_id" : "_uid"}:${previousId}`])];
      this.#named.push(identities);
      const message = { number, identities, time: undefined };
      return after(this.#table, people, { kind: "message", message });
    });
  }

  /** Reads every identity, and drops the states that differ. */
  async #look(): Promise<void> {
    const names = [...this.#table.names.map((_, index) => this.#nameOf(index)), ...this.#aliasedDevices()];
    const shown = await Promise.all(names.map((name) => this.#read(name)));
    for (const [index, one] of shown.entries()) {
      if (one === undefined) continue;
      expect(one.identities).to.include(names[index]);
      this.#expectNamedTogether(one.identities);
    }
    const expected = (people: People) =>
      names.map((name): Shown | undefined => {
        const owner = ownerOf(people, name);
        return owner && { ...owner, messages: owner.messages.filter((number) => !this.#bodies[number]?.isCall) };
      });
    const possible = this.#possible.map((people) => ({ people, shown: expected(people) }));
    const text = JSON.stringify(shown);
    this.#possible = possible.flatMap(({ people, shown }) => (JSON.stringify(shown) === text ? people : []));
    if (this.#possible.length > 0) return;
    const lines = possible.map((one) => `expected ${JSON.stringify(one.shown)}`);
    throw new Error(this.#report(["The profiles differ from the model", ...lines, `shown    ${text}`].join("\n")));
  }

  /** Devices that have the names of users: an `alias` names them if no profile has that user. */
  #aliasedDevices(): string[] {
    if (this.#table.name !== "user") return [];
    return this.#table.names.flatMap((name) =>
      fieldOf(name) === "_uid" ? [] : `_uid:${valueIn(name)}${this.#suffix}`,
    );
  }

  async #read(identity: string): Promise<Shown | undefined> {
    const path = `/api/entity/${this.#table.name}/${fieldOf(identity)}/${encodeURIComponent(valueIn(identity))}`;
    const response = await this.#world.service.fetch(path);
    const { data } = (await response.json()) as { data: Record<string, string | string[]> };
    if (response.status === 404) return undefined;
    expect(response.status).to.equal(200);
    const messages = Object.keys(data).flatMap((name) => (/^m\d+$/.test(name) ? Number(name.slice(1)) : []));
    return { identities: identitiesIn(data, this.#table), messages: messages.sort((a, b) => a - b) };
  }

  /** Two values of a protected field are one person only if messages named them together. */
  #expectNamedTogether(identities: readonly string[]): void {
    for (const field of this.#table.protected) {
      const values = identities.filter((identity) => fieldOf(identity) === field);
      const together = new Set(values.slice(0, 1));
      for (let size = 0; size < together.size; ) {
        size = together.size;
        for (const named of this.#named) {
          const own = named.filter((identity) => fieldOf(identity) === field);
          if (own.some((one) => together.has(one))) for (const one of own) together.add(one);
        }
      }
      expect([...together], "named together").to.include.members(values);
    }
  }

  /** Compares the export of a person, and the preview of their deletion, with the model. */
  async #checkPerson({ identities, messages }: Shown): Promise<void> {
    const [first] = identities as [string];
    const json = { table: this.#table.name, field: fieldOf(first), value: valueIn(first) };
    const exported = await this.#world.service.fetch("/api/entity/export", { method: "POST", json });
    const [profile, ...lines] = (await exported.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(identitiesIn(profile.identities, this.#table)).to.deep.equal(identities);
    const bodies = messages.map((number) => this.#bodies[number]?.body);
    expect(lines.slice(0, -1).map(({ body }) => body)).to.have.deep.members(bodies);

    const preview = await this.#world.service.fetch("/api/deletion/preview", { method: "POST", json });
    const { data } = (await preview.json()) as { data: Record<string, unknown> };
    const calls = messages.filter((number) => this.#bodies[number]?.isCall).length;
    const others = messages.length - calls;
    expect(data).to.deep.include({
      profiles: 1,
      identities: Object.fromEntries([...valuesByField(identities)].map(([field, values]) => [field, values.length])),
      messages: { ...(others > 0 ? { web: others } : {}), ...(calls > 0 ? { segment: calls } : {}) },
    });
  }

  async #checkMembers({ people }: People): Promise<void> {
    const members = people.filter(({ messages }) => messages.some((number) => !this.#bodies[number]?.isCall));
    const response = await this.#world.service.fetch(`/api/segment/${this.#segment}/members`, { method: "POST" });
    const lines = response.status === 404 ? [] : (await response.text()).trim().split("\n").slice(0, -1);
    const listed = lines.map((line) => identitiesIn(JSON.parse(line).identities, this.#table));
    expect(listed).to.have.deep.members(members.map(({ identities }) => identities));
  }

  #nameOf(who: number): string {
    const name = this.#table.names[who % this.#table.names.length] as string;
    return `${name}${this.#suffix}${fieldOf(name) === "email" ? "@example.org" : ""}`;
  }

  #report(problem: string): string {
    return [`${problem} after`, ...this.#past, ""].join("\n");
  }
}

function valueIn(identity: string): string {
  return identity.slice(identity.indexOf(":") + 1);
}

function valuesByField(identities: readonly string[]): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const one of identities) values.set(fieldOf(one), [...(values.get(fieldOf(one)) ?? []), valueIn(one)]);
  return values;
}

/** The identities of an entity, sorted. */
function identitiesIn(fields: Record<string, unknown>, table: SharedTable): string[] {
  const names = [...new Set(table.names.map(fieldOf))];
  return names
    .flatMap((name) => [(fields[name] ?? []) as string | string[]].flat().map((value) => `${name}:${value}`))
    .sort();
}
