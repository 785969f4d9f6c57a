import type { Rule } from "../../src/segments/rule.js";

/** A message that was stored, as the model keeps it. */
export interface KeptMessage {
  /** Event time, Unix ms, with parts of a ms. */
  readonly time: number;
  readonly arrival: number;
  readonly isTimeNamed: boolean;
  /** Order of storing among all messages and deletions of segments. */
  readonly order: number;
  readonly stream: string;
  readonly isCounted: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly segments: { readonly full: readonly string[] } | { readonly add?: string[]; readonly remove?: string[] };
}

/** A person: the messages about all identities that one of them has united. */
export interface Person {
  readonly names: ReadonlySet<string>;
  readonly messages: readonly KeptMessage[];
  /** Arrival of its first message; after a merge the earliest. */
  readonly createdAt: number;
  /** The newest statement about each pushed segment. */
  readonly pushed: Map<string, Statement>;
  /** The newest full list. */
  full: Statement;
}

interface Statement extends Pick<KeptMessage, "time" | "arrival" | "order"> {
  readonly isMember: boolean;
}

interface Deleted {
  readonly at: number;
  readonly order: number;
}

const NEVER = Number.MIN_SAFE_INTEGER;
const noStatement: Statement = { time: NEVER, arrival: NEVER, order: NEVER, isMember: false };

/**
 * A model of segments by rule, written from their meaning: it keeps every message, and answers each question by
 * reading all of them again. Conditions are evaluated without a shortcut.
 */
export class PeopleOfRules {
  people: Person[] = [];
  readonly rules = new Map<string, Rule>();
  readonly pushed = new Set<string>();
  readonly #deleted = new Map<string, Deleted>();
  /** When each name was last deleted. */
  readonly #erased = new Map<string, number>();
  #order = 0;

  personOf(name: string): Person | undefined {
    return this.people.find(({ names }) => names.has(name));
  }

  /**
   * A message that names the time of an event before a deletion of one of its people is dropped; one must not add or
   * remove a segment by rule.
   */
  collect(names: readonly string[], message: Omit<KeptMessage, "order">): "taken" | "dropped" | "segment_by_rule" {
    const cutOff = Math.max(...names.map((name) => this.#erased.get(name) ?? NEVER));
    if (message.isTimeNamed && message.time <= cutOff) return "dropped";
    const { segments } = message;
    const said = "full" in segments ? segments.full : [...(segments.add ?? []), ...(segments.remove ?? [])];
    if (!("full" in segments) && said.some((id) => this.rules.has(id))) return "segment_by_rule";
    const united = this.people.filter((person) => names.some((name) => person.names.has(name)));
    const kept = { ...message, order: this.#order++ };
    const person = {
      names: new Set([...names, ...united.flatMap((one) => [...one.names])]),
      messages: [...united.flatMap((one) => one.messages), kept],
      createdAt: united.length === 0 ? message.arrival : Math.min(...united.map(({ createdAt }) => createdAt)),
      pushed: new Map<string, Statement>(),
      full:
        united
          .map(({ full }) => full)
          .toSorted(byVersion)
          .at(-1) ?? noStatement,
    };
    const statements = united.flatMap(({ pushed }) => [...pushed]);
    for (const [id, statement] of statements.sort(([, a], [, b]) => byVersion(a, b))) person.pushed.set(id, statement);
    this.#state(person, kept);
    this.people = [...this.people.filter((one) => !united.includes(one)), person];
    return "taken";
  }

  #state(person: Person, { time, arrival, order, isTimeNamed, segments }: KeptMessage): void {
    const state = (id: string, isMember: boolean) => {
      const deleted = this.#deleted.get(id);
      if (this.rules.has(id) || (isTimeNamed && time <= (deleted?.at ?? NEVER))) return;
      if (isMember) this.pushed.add(id);
      const since = person.full.order > (deleted?.order ?? NEVER) ? person.full : noStatement;
      const known = person.pushed.get(id) ?? since;
      const statement = { time, arrival, order, isMember };
      person.pushed.set(id, byVersion(known, statement) < 0 ? statement : known);
    };
    if ("full" in segments) {
      const list = { time, arrival, order, isMember: false };
      for (const [id, known] of person.pushed) {
        if (!segments.full.includes(id) && byVersion(known, list) < 0) person.pushed.set(id, list);
      }
      for (const id of segments.full) state(id, true);
      if (byVersion(person.full, list) < 0) person.full = list;
      return;
    }
    for (const id of segments.add ?? []) state(id, true);
    for (const id of segments.remove ?? []) state(id, false);
  }

  erase(person: Person, at: number): void {
    for (const name of person.names) this.#erased.set(name, Math.max(at, this.#erased.get(name) ?? NEVER));
    this.people = this.people.filter((one) => one !== person);
  }

  /** Returns whether there was such a segment, and no rule names it. */
  deleteSegment(id: string, at: number): boolean {
    if (!this.rules.has(id) && !this.pushed.has(id)) return false;
    if ([...this.rules.values()].some((rule) => segmentsNamed(rule).includes(id))) return false;
    this.rules.delete(id);
    this.pushed.delete(id);
    for (const person of this.people) person.pushed.delete(id);
    this.#deleted.set(id, { at: Math.max(at, this.#deleted.get(id)?.at ?? 0), order: this.#order++ });
    return true;
  }

  segmentsOf(person: Person, now: number): string[] {
    const byRule = [...this.rules.keys()].filter((id) => this.isMember(person, id, now));
    return [...byRule, ...[...this.pushed].filter((id) => this.isMember(person, id, now))].sort();
  }

  isMember(person: Person, segment: string, now: number): boolean {
    const rule = this.rules.get(segment);
    return rule === undefined ? person.pushed.get(segment)?.isMember === true : this.#holds(rule, person, now);
  }

  #holds(rule: Rule, person: Person, now: number): boolean {
    if ("all" in rule) return rule.all.map((part) => this.#holds(part, person, now)).every(Boolean);
    if ("any" in rule) return rule.any.map((part) => this.#holds(part, person, now)).some(Boolean);
    if ("not" in rule) return !this.#holds(rule.not, person, now);
    if ("segment" in rule) return this.isMember(person, rule.segment, now);
    if ("profile" in rule) {
      if (rule.profile === "created_at") return isBetween(person.createdAt, rule, now);
      const times = person.messages.filter(({ isCounted }) => isCounted).map(({ time }) => time);
      return times.length > 0 && isBetween(Math.max(...times), rule, now);
    }
    if ("stream" in rule) {
      const streams = [rule.stream].flat();
      const times = person.messages
        .filter(({ stream, isCounted }) => isCounted && streams.includes(stream))
        .map(({ time }) => time);
      const { count, first, last } = rule;
      const tests = [
        count === undefined || isAllowed(within(times, count.within, now), count),
        first === undefined || (times.length > 0 && isBetween(Math.min(...times), first, now)),
        last === undefined || (times.length > 0 && isBetween(Math.max(...times), last, now)),
        (count ?? first ?? last) !== undefined || times.length > 0,
      ];
      return tests.every(Boolean);
    }
    const value = attributeOf(person, rule.attribute as string);
    if (value === undefined) return false;
    const { is, after, before } = rule;
    const bounds = [rule.at_least, rule.above, rule.at_most, rule.below];
    if ((is ?? after ?? before) === undefined && bounds.every((bound) => bound === undefined)) return true;
    const results = (Array.isArray(value) ? value : [value]).map((one) => {
      const instant = typeof one === "string" ? Date.parse(one) : Number.NaN;
      return [
        is === undefined || [is].flat().includes(one as string),
        bounds.every((bound) => bound === undefined) || (typeof one === "number" && isAllowed(one, rule)),
        (after ?? before) === undefined || (!Number.isNaN(instant) && isBetween(instant, rule, now)),
      ].every(Boolean);
    });
    return results.some(Boolean);
  }

  /** Returns the first instant after `now` at which time alone changes a decision about the person. */
  nextChange(person: Person, now: number): number {
    const decisions = (at: number) => [...this.rules.keys()].map((id) => this.isMember(person, id, at)).join();
    const instants = [
      ...person.messages.flatMap(({ time, arrival }) => [time, arrival]),
      ...person.messages
        .flatMap(({ attributes }) => Object.values(attributes).flat())
        .map((one) => Date.parse(`${one}`)),
    ];
    const distances = new Set([...this.rules.values()].flatMap((rule) => distancesIn(rule)));
    const candidates = instants.flatMap((instant) =>
      [...distances].flatMap((distance) => [0, 1].map((more) => Math.floor(instant + distance) + more)),
    );
    const decided = decisions(now);
    const later = candidates.filter((at) => at > now).sort((a, b) => a - b);
    return later.find((at) => decisions(at) !== decided) ?? Number.POSITIVE_INFINITY;
  }
}

/** Returns the value of an attribute: the one of the newest message that names it. */
function attributeOf({ names, messages }: Person, attribute: string): unknown {
  if (attribute === "_uid") return [...names];
  let value: unknown;
  for (const { attributes } of messages.toSorted(byVersion)) {
    if (Object.hasOwn(attributes, attribute)) value = attributes[attribute];
  }
  return value ?? undefined;
}

type Version = Pick<KeptMessage, "time" | "arrival" | "order">;

function byVersion(a: Version, b: Version): number {
  return a.time - b.time || a.arrival - b.arrival || a.order - b.order;
}

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

function ms(duration: string): number {
  return Number(duration.slice(0, -1)) * UNITS[duration.at(-1) as keyof typeof UNITS];
}

/** An instant of a rule; of text alone, as the generated rules have. */
function instantOf(text: string | number, now: number): number {
  const [, sign, duration] = /^now(?:([+-])(.+))?$/.exec(`${text}`) ?? [];
  if (duration !== undefined) return now + (sign === "-" ? -1 : 1) * ms(duration);
  return text === "now" ? now : Date.parse(`${text}`);
}

interface Between {
  readonly after?: string | number;
  readonly before?: string | number;
}

function isBetween(instant: number, { after, before }: Between, now: number): boolean {
  return [
    after === undefined || instant >= instantOf(after, now),
    before === undefined || instant < instantOf(before, now),
  ].every(Boolean);
}

function within(times: readonly number[], duration: string | undefined, now: number): number {
  return duration === undefined ? times.length : times.filter((time) => time >= now - ms(duration)).length;
}

interface Allowed {
  readonly at_least?: number;
  readonly above?: number;
  readonly at_most?: number;
  readonly below?: number;
}

function isAllowed(value: number, { at_least, above, at_most, below }: Allowed): boolean {
  return [
    at_least === undefined || value >= at_least,
    above === undefined || value > above,
    at_most === undefined || value <= at_most,
    below === undefined || value < below,
  ].every(Boolean);
}

export function segmentsNamed(rule: Rule): string[] {
  if ("all" in rule) return rule.all.flatMap(segmentsNamed);
  if ("any" in rule) return rule.any.flatMap(segmentsNamed);
  if ("not" in rule) return segmentsNamed(rule.not);
  return "segment" in rule ? [rule.segment] : [];
}

/** Returns how long after an instant its conditions change: the distances that the rule names. */
function distancesIn(rule: Rule): number[] {
  const texts = JSON.stringify(rule).match(/now[+-]\d+[mhdw]|"within":"\d+[mhdw]|"now"/g) ?? [];
  return texts.map((text) => {
    const duration = ms(/\d+[mhdw]/.exec(text)?.[0] ?? "0m");
    return text.startsWith("now+") ? -duration : duration;
  });
}
