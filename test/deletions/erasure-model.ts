/** Who is who, what is said, and who was erased: the slow and obvious way. Identities are plain words here. */
export interface ModelMessage {
  readonly identities: readonly string[];
  readonly time: number;
  readonly arrival: number;
  /** null removes the attribute. */
  readonly attribute: readonly [name: string, value: number | null];
  /** A segment that the entity is in from then on. */
  readonly segment: string | undefined;
}

/** Something that takes a while: it happens at one instant between its start and its end, and the model does not know at which. */
export type UnderWay =
  | { readonly kind: "collect"; readonly message: ModelMessage }
  | { readonly kind: "delete"; readonly identity: string; readonly cutOff: number };

interface Entity {
  readonly identities: readonly string[];
  readonly attributes: Readonly<Record<string, { time: number; arrival: number; value: number | null }>>;
  readonly segments: readonly string[];
  /** The newest arrival of its messages. */
  readonly newest: number;
}

/** One way in which it may have gone. */
interface World {
  readonly entities: readonly Entity[];
  readonly cutOffs: Readonly<Record<string, number>>;
  readonly underWay: UnderWay | undefined;
}

/** What a read shows of an identity: undefined when there is no profile. */
export type Seen = { identities: string[]; attributes: Record<string, number>; segments: string[] } | undefined;

/** Every way in which it may have gone, given what was seen so far. */
export class ErasureModel {
  #worlds: readonly World[] = [{ entities: [], cutOffs: {}, underWay: undefined }];

  collect(message: ModelMessage): void {
    this.#each((world) => [collected(world, message)]);
  }

  delete(identity: string, cutOff: number): void {
    this.#each((world) => [deleted(world, identity, cutOff)]);
  }

  start(underWay: UnderWay): void {
    this.#each((world) => [{ ...world, underWay }]);
  }

  /** To be called before and after everything else while something is under way. */
  perhaps(): void {
    this.#each((world) => (world.underWay === undefined ? [world] : [world, happened(world, world.underWay)]));
  }

  /** What was under way will not happen any more. */
  abandon(): void {
    this.#each(({ underWay: _, ...world }) => [{ ...world, underWay: undefined }]);
  }

  end(): void {
    this.#each((world) => [world.underWay === undefined ? world : happened(world, world.underWay)]);
  }

  /** Keeps the worlds in which a read of each identity shows this; false when there is none. */
  agrees(seen: ReadonlyMap<string, Seen>, segments: boolean): boolean {
    const before = this.#worlds;
    this.#worlds = before.filter((world) =>
      [...seen].every(([identity, shown]) => same(read(world, identity), shown, segments)),
    );
    return this.#worlds.length > 0;
  }

  /** What would have been right, one line for each world. */
  expected(identities: readonly string[]): string {
    return this.#worlds
      .map((world) => JSON.stringify(identities.map((identity) => [identity, read(world, identity)])))
      .join("\n");
  }

  #each(step: (world: World) => World[]): void {
    this.#worlds = [...new Map(this.#worlds.flatMap(step).map((world) => [JSON.stringify(world), world])).values()];
  }
}

function same(a: Seen, b: Seen, segments: boolean): boolean {
  const bare = (seen: Seen) => JSON.stringify(segments ? seen : seen && { ...seen, segments: [] });
  return bare(a) === bare(b);
}

function happened({ underWay: _, ...rest }: World, it: UnderWay): World {
  const world = { ...rest, underWay: undefined };
  return it.kind === "collect" ? collected(world, it.message) : deleted(world, it.identity, it.cutOff);
}

function collected(world: World, { identities, time, arrival, attribute, segment }: ModelMessage): World {
  if (identities.some((identity) => time <= (world.cutOffs[identity] ?? Number.NEGATIVE_INFINITY))) return world;
  const named = world.entities.filter((entity) => entity.identities.some((identity) => identities.includes(identity)));
  const [name, value] = attribute;
  const said: Entity = {
    identities,
    attributes: { [name]: { time, arrival, value } },
    segments: segment === undefined ? [] : [segment],
    newest: arrival,
  };
  const joined = [...named, said].reduce(united);
  return { ...world, entities: [...world.entities.filter((entity) => !named.includes(entity)), joined] };
}

function united(a: Entity, b: Entity): Entity {
  const attributes = { ...a.attributes };
  for (const [name, state] of Object.entries(b.attributes)) {
    const kept = attributes[name];
    const newer = kept === undefined || state.time - kept.time || state.arrival - kept.arrival;
    if (newer === true || newer > 0) attributes[name] = state;
  }
  return {
    identities: [...new Set([...a.identities, ...b.identities])].sort(),
    attributes,
    segments: [...new Set([...a.segments, ...b.segments])].sort(),
    newest: Math.max(a.newest, b.newest),
  };
}

function deleted(world: World, identity: string, cutOff: number): World {
  const gone = world.entities.filter((entity) => entity.identities.includes(identity));
  const cutOffs = { ...world.cutOffs };
  // A message that the profile got while the request was held is erased with it, and stays away as the others do.
  const latest = Math.max(cutOff, ...gone.map(({ newest }) => newest));
  for (const name of [identity, ...gone.flatMap((entity) => entity.identities)]) {
    cutOffs[name] = Math.max(latest, cutOffs[name] ?? latest);
  }
  return { ...world, entities: world.entities.filter((entity) => !gone.includes(entity)), cutOffs };
}

function read(world: World, identity: string): Seen {
  const entity = world.entities.find((candidate) => candidate.identities.includes(identity));
  if (entity === undefined) return undefined;
  const kept = Object.entries(entity.attributes).flatMap(([name, { value }]) =>
    value === null ? [] : [[name, value] as const],
  );
  return {
    identities: [...entity.identities].sort(),
    attributes: Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1))),
    segments: [...entity.segments],
  };
}
