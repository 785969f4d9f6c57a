import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { identityHashing } from "../../src/entities/profile/identity-hash.js";
import { type Exported, exportEntity } from "../../src/entities/read/export-entity.js";
import { userTable } from "../support/entity-stage.js";
import { endless, opening } from "../support/opening.js";
import { collectThrough, isCompleteIn, removeThrough } from "../support/requests.js";
import type { TestService } from "../support/service.js";
import { until } from "../support/until.js";

/** A change of profiles. Persons are numbers, each with one identity of one of three fields. */
export type Change =
  | { readonly what: "collect"; readonly person: number; readonly count: number }
  | { readonly what: "merge"; readonly person: number; readonly other: number }
  | { readonly what: "erase"; readonly person: number };

/** Counters of the property. */
export interface Seen {
  /** Exports that were read to their last line. */
  whole: number;
  /** Exports that ended without it. */
  ended: number;
}

/** The expected content of a profile. */
interface Expected {
  readonly persons: Set<number>;
  /** Numbers of its messages that are acknowledged. */
  readonly messages: Set<number>;
}

interface Export {
  readonly pages: AsyncGenerator<readonly Exported[], void, void> | undefined;
  of: Expected | undefined;
  /** Messages that were acknowledged when it was asked for. */
  readonly atLeast: ReadonlySet<number>;
  readonly read: Exported[];
  /** Whether its profile was erased or merged with another since, and that is done. */
  isOver: boolean;
  isDone: boolean;
}

/** Profiles of a service, their expected content, and the exports in progress. `tick` advances the clock. */
export class ExportWorld {
  private readonly prefix = randomBytes(4).toString("hex");
  private readonly profiles = new Map<number, Expected>();
  private readonly exports: Export[] = [];
  private nextMessage = 1;
  private readonly reading;

  constructor(
    private readonly service: TestService,
    private readonly tick: () => void,
    private readonly seen: Seen,
  ) {
    const { stores } = service.service;
    const segments = { segmentsById: async () => new Map() };
    const hashIdentity = identityHashing(stores.pepper);
    this.reading = { ...stores, ...opening(), segments, hashIdentity };
  }

  /** Makes a change, and concurrently reads the next page of every export if `exportsGoOn`. */
  async change(change: Change, exportsGoOn: boolean): Promise<void> {
    this.tick();
    const done = this.apply(change);
    const pages = exportsGoOn ? this.exports.map((one) => this.nextPage(one)) : [];
    const after = await done;
    const read = await Promise.all(pages);
    after();
    for (const settle of read) settle();
  }

  async startExport(person: number): Promise<void> {
    this.tick();
    const of = this.profiles.get(person);
    const pages = await exportEntity(this.reading, userTable, this.identity(person), endless());
    expect(pages === undefined, "there is an export of each profile that there is").to.equal(of === undefined);
    const one = { pages, of, atLeast: new Set(of?.messages), read: [], isOver: false, isDone: pages === undefined };
    this.exports.push(one);
  }

  /** The next page of one of the exports. */
  async goOn(index: number): Promise<void> {
    const one = this.exports[index % Math.max(1, this.exports.length)];
    if (one !== undefined) (await this.nextPage(one))();
  }

  /** Reads every export to its end. */
  async finish(): Promise<void> {
    for (const one of this.exports) while (!one.isDone) (await this.nextPage(one))();
  }

  /** Reads the next page. The returned function checks it. */
  private async nextPage(one: Export): Promise<() => void> {
    if (one.isDone || one.pages === undefined) return () => {};
    const { isOver } = one;
    const { value: page, done } = await one.pages.next();
    return () => {
      if (isOver) expect(page, "nothing comes of a profile that is erased or merged").to.equal(undefined);
      for (const line of page ?? []) this.check(line, one);
      if (done !== true) return;
      one.isDone = true;
      if (one.read.at(-1)?.type === "end") return;
      expect(one.isOver, "an export ends early only where its profile was erased or merged").to.equal(true);
      this.seen.ended += 1;
    };
  }

  private check(line: Exported, one: Export): void {
    const { of, read, atLeast } = one;
    read.push(line);
    if (line.type === "profile") {
      const values = Object.values(line.identities).flat();
      for (const value of values)
        expect(of?.persons.has(this.personOf(value)), "an identity is its own").to.equal(true);
    } else if (line.type === "message") {
      const { n } = line.body as { n: number };
      expect(of?.messages.has(n), `message ${n} is its own`).to.equal(true);
    } else {
      const numbers = read.flatMap((each) => (each.type === "message" ? [(each.body as { n: number }).n] : []));
      const exported = new Set(numbers);
      expect(exported.size, "each message comes once").to.equal(numbers.length);
      expect(line.messages).to.equal(numbers.length);
      expect(
        [...atLeast].filter((n) => !exported.has(n)),
        "no acknowledged message is missing",
      ).to.deep.equal([]);
      this.seen.whole += 1;
    }
  }

  /** Makes a change; the returned function records that it is done. */
  private async apply(change: Change): Promise<() => void> {
    const { person } = change;
    if (change.what === "erase") {
      await this.erase(person);
      return () => this.noteErased(person);
    }
    const isOne = change.what === "collect" || fieldOf(person) === fieldOf(change.other);
    const persons = isOne ? [person] : [person, change.other];
    const count = change.what === "collect" ? change.count : 1;
    const first = this.nextMessage;
    this.nextMessage += count;
    const numbers = Array.from({ length: count }, (_, index) => first + index);
    const identities = Object.fromEntries(persons.map((one) => [fieldOf(one), this.valueOf(one)]));
    await collectThrough(
      this.service,
      numbers.map((n) => ({ ...identities, n })),
    );
    return () => this.noteStored(persons, numbers);
  }

  private async erase(person: number): Promise<void> {
    const { field, value } = this.identity(person);
    const requestId = await removeThrough(this.service, `${field}/${value}`);
    await until("the deletion is complete", () => isCompleteIn(this.service, requestId));
  }

  private noteErased(person: number): void {
    const gone = this.profiles.get(person);
    for (const one of gone?.persons ?? []) this.profiles.delete(one);
    for (const one of this.exports) if (one.of === gone) one.isOver = true;
  }

  private noteStored(persons: readonly number[], numbers: readonly number[]): void {
    const before = new Set(persons.flatMap((person) => this.profiles.get(person) ?? []));
    const profile: Expected = [...before][0] ?? { persons: new Set(), messages: new Set() };
    for (const other of before) {
      for (const one of this.exports)
        if (one.of === other && before.size > 1) Object.assign(one, { of: profile, isOver: true });
      if (other === profile) continue;
      for (const kind of ["persons", "messages"] as const)
        for (const each of other[kind]) (profile[kind] as Set<unknown>).add(each);
    }
    for (const person of persons) profile.persons.add(person);
    for (const n of numbers) profile.messages.add(n);
    for (const person of profile.persons) this.profiles.set(person, profile);
  }

  private identity(person: number): { field: string; value: string } {
    return { field: fieldOf(person), value: this.valueOf(person) };
  }

  private valueOf(person: number): string {
    return `${this.prefix}-${person}@example.org`;
  }

  private personOf(value: string): number {
    return Number.parseInt(value.slice(this.prefix.length + 1), 10);
  }
}

/** None is protected: a message about two people merges them. */
const fields = ["_uid", "email"] as const;

function fieldOf(person: number): string {
  return fields[person % fields.length] as string;
}
