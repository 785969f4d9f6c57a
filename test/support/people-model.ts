/**
 * The people of one table after messages and deletions: who has which identity, which messages are whose, and what is
 * left out. Written from the rules of protected fields, without the code that implements them.
 */

/** A table with protected fields. An identity is `field:value`. */
export interface PeopleTable {
  readonly name: string;
  readonly protected: readonly string[];
  readonly strongestFirst: readonly string[];
}

export interface PeopleMessage {
  /** Messages with equal numbers are equal. */
  readonly number: number;
  /** In the order of the message, without duplicates. */
  readonly identities: readonly string[];
  /** The event time that it names, Unix ms. */
  readonly time: number | undefined;
}

export type PeopleEffect =
  | { readonly kind: "message"; readonly message: PeopleMessage }
  | { readonly kind: "delete"; readonly identity: string; readonly at: number };

interface Person {
  readonly identities: readonly string[];
  readonly messages: readonly number[];
}

/** One possible state of a table. */
export interface People {
  readonly people: readonly Person[];
  /** Times up to which events of erased identities are dropped, Unix ms. */
  readonly cutOffs: ReadonlyMap<string, number>;
  /** Identities left out of stored messages so far. */
  readonly leftOut: number;
}

export const noPeople: People = { people: [], cutOffs: new Map(), leftOut: 0 };

/**
 * Every possible result of requests that are in progress at the same time: their effects in any order that keeps the
 * order within each request.
 */
export function afterConcurrent(
  table: PeopleTable,
  before: People,
  requests: readonly (readonly PeopleEffect[])[],
): People[] {
  const results = new Map<string, People>();
  const visit = (people: People, left: readonly (readonly PeopleEffect[])[], erased: readonly string[]): void => {
    if (left.every((effects) => effects.length === 0)) results.set(keyOf(people), people);
    for (const [index, [effect, ...rest]] of left.entries()) {
      if (effect === undefined) continue;
      const others = left.with(index, rest);
      visit(after(table, people, effect), others, [...erased, ...erasedBy(people, effect)]);
      // A writer that meets a deletion cannot tell whether an earlier attempt of it was stored before the deletion.
      if (effect.kind === "message" && erased.includes(strongestFirst(table, effect.message)[0] as string))
        visit(people, others, erased);
    }
  };
  visit(before, requests, []);
  return [...results.values()];
}

export function after(table: PeopleTable, before: People, request: PeopleEffect): People {
  if (request.kind === "message") return afterMessage(table, before, request.message);
  const erased = erasedBy(before, request);
  return {
    ...before,
    people: before.people.filter(({ identities }) => !identities.includes(request.identity)),
    cutOffs: new Map([...before.cutOffs, ...erased.map((identity) => [identity, request.at] as const)]),
  };
}

function afterMessage(table: PeopleTable, before: People, message: PeopleMessage): People {
  const { number, identities, time } = message;
  const isErased = (identity: string) => (before.cutOffs.get(identity) ?? Number.NEGATIVE_INFINITY) >= (time as number);
  if (time !== undefined && identities.some(isErased)) return before;
  const joined = new Set<Person>();
  const own = new Set<string>();
  let { leftOut } = before;
  for (const identity of strongestFirst(table, message)) {
    const owner = ownerOf(before, identity);
    if (owner !== undefined && joined.has(owner)) continue;
    if (!mayUnite(table, [...own], owner?.identities ?? [identity], identities)) {
      leftOut += 1;
      continue;
    }
    if (owner !== undefined) joined.add(owner);
    for (const one of owner?.identities ?? [identity]) own.add(one);
  }
  const person = {
    identities: [...own].sort(),
    messages: [...[...joined].flatMap(({ messages }) => messages), number].sort((a, b) => a - b),
  };
  return { ...before, people: [...before.people.filter((one) => !joined.has(one)), person], leftOut };
}

function strongestFirst(table: PeopleTable, { identities }: PeopleMessage): readonly string[] {
  return table.strongestFirst.flatMap((field) => identities.filter((one) => fieldOf(one) === field));
}

/**
 * Whether a message that names these identities may unite two profiles: for each protected field of which both have a
 * value it names a value of each.
 */
function mayUnite(
  { protected: fields }: PeopleTable,
  one: string[],
  other: readonly string[],
  named: readonly string[],
) {
  return fields.every((field) => {
    const [values, others] = [one, other].map((all) => all.filter((identity) => fieldOf(identity) === field));
    if (values?.length === 0 || others?.length === 0) return true;
    return [values, others].every((all) => all?.some((identity) => named.includes(identity)));
  });
}

/** Identities whose old events are dropped from this request on. */
function erasedBy(people: People, request: PeopleEffect): readonly string[] {
  if (request.kind === "message") return [];
  return ownerOf(people, request.identity)?.identities ?? [request.identity];
}

export function ownerOf({ people }: People, identity: string): Person | undefined {
  return people.find(({ identities }) => identities.includes(identity));
}

export function fieldOf(identity: string): string {
  return identity.slice(0, identity.indexOf(":"));
}

function keyOf({ people, cutOffs, leftOut }: People): string {
  return JSON.stringify([people.map((one) => JSON.stringify(one)).sort(), [...cutOffs].sort(), leftOut]);
}
