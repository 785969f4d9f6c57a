import {
  type Count,
  entityOf,
  explained,
  merged,
  type Operation,
  outcomes,
  shownIn,
  type World,
} from "./erasure-worlds.js";

interface Group {
  readonly people: ReadonlySet<number>;
  readonly operations: readonly Operation[];
}

/** Owners of identities, stored messages and erased people after the responses so far: every possible state. */
export class ErasureModel {
  #worlds: readonly World[] = [{ entities: [], cutOffs: new Map(), happened: new Set(), counts: new Map() }];
  /** Operations without a response that may still take effect. */
  #open: readonly Operation[] = [];
  readonly #past: Operation[] = [];

  /** Adds operations that began after all earlier ones had ended; throws if no order explains their responses. */
  take(operations: readonly Operation[]): void {
    this.#past.push(...operations);
    for (const group of this.#groups([...this.#open, ...operations])) {
      if (!group.operations.some((operation) => operations.includes(operation))) continue;
      const worlds = explained(this.#worlds, group.operations, group.people);
      if (worlds.length === 0) throw new Error(this.#report(group.operations));
      this.#worlds = worlds;
    }
    this.#open = [...this.#open, ...operations.filter(({ answered }) => !answered)];
    const repeated = operations.flatMap(({ answered, repeats }) => (answered && repeats ? [repeats.id] : []));
    this.#forget((operation) => repeated.includes(operation.id));
  }

  /** Adds the late response of an operation: it has taken effect by now. */
  answer(operation: Operation): void {
    const effects = (world: World) => (world.happened.has(operation.id) ? [world] : outcomes(world, operation));
    this.#worlds = merged(this.#worlds.flatMap(effects));
    this.#forget(({ id }) => id === operation.id);
  }

  /** Ends operations without a response that are not repeated: they have taken effect by now or never will. */
  settle(isOver: (operation: Operation) => boolean): void {
    this.#forget(isOver);
  }

  /** Identities that may belong to the same profile, including this one. */
  #matesOf(who: number): number[] {
    return [...new Set([who, ...this.#worlds.flatMap((world) => entityOf(world, who)?.who ?? [])])];
  }

  /** Number of messages in a slot. */
  count(slot: string): Count {
    const counts = this.#worlds.map(({ counts }) => counts.get(slot) ?? { least: 0, most: 0 });
    return {
      least: Math.min(...counts.map(({ least }) => least)),
      most: Math.max(...counts.map(({ most }) => most)),
    };
  }

  #forget(isOver: (operation: Operation) => boolean): void {
    const over = this.#open.filter(isOver).map(({ id }) => id);
    if (over.length === 0) return;
    this.#open = this.#open.filter(({ id }) => !over.includes(id));
    this.#worlds = merged(
      this.#worlds.map((world) => ({
        ...world,
        happened: new Set([...world.happened].filter((id) => !over.includes(id))),
      })),
    );
  }

  /** Operations that concern the same profiles. */
  #groups(operations: readonly Operation[]): Group[] {
    const groups: Group[] = [];
    for (const operation of operations) {
      const people = new Set(peopleOf(operation).flatMap((who) => this.#matesOf(who)));
      const same = groups.filter((group) => [...people].some((who) => group.people.has(who)));
      for (const group of same) groups.splice(groups.indexOf(group), 1);
      groups.push({
        people: new Set([...people, ...same.flatMap((group) => [...group.people])]),
        operations: [...same.flatMap((group) => group.operations), operation],
      });
    }
    return groups;
  }

  #report(wrong: readonly Operation[]): string {
    const people = [...new Set(wrong.flatMap(peopleOf))];
    const earlier = this.#past.filter((operation) => peopleOf(operation).some((who) => people.includes(who)));
    const requests = earlier.slice(-REPORTED).map((operation) => {
      const { id, request, during, answered, through, repeats } = operation;
      const words = [
        answered ? "answered" : "not answered",
        ...(repeats === undefined ? [] : [`repeats ${repeats.id}`]),
      ];
      const mark = wrong.includes(operation) ? "*" : " ";
      return `${mark}${id} process ${through % 2} ${during.from}-${during.to} ${words.join(", ")} ${JSON.stringify(request)}`;
    });
    const before = this.#worlds.map((world) => people.map((who) => expected(world, who)).join(" | "));
    return ["These answers (*) cannot all be right.", "Before:", ...before, "Requests:", ...requests].join("\n");
  }
}

/** Operations of the past that a report shows. */
const REPORTED = 60;

export function peopleOf({ request }: Operation): number[] {
  if (request.kind === "collect") return request.messages.flatMap(({ who }) => who);
  return [request.who, ...(request.kind === "read" ? (request.shown?.who ?? []) : [])];
}

function expected(world: World, who: number): string {
  const cutOff = world.cutOffs.get(who);
  const erased =
    cutOff === undefined
      ? ""
      : ` erased ${cutOff.order.from}-${cutOff.order.to} up to ${cutOff.time.from}-${cutOff.time.to}`;
  return `${who}: ${shownIn(world, who) ?? "no profile"}${erased}`;
}
