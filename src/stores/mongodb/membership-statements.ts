import { compareStamps, type EntityId, type Stamp } from "../../entities/entity.js";
import type { MembershipChange } from "../../entities/membership-index.js";

/** Everything that was said of one entity's segments. The functions here are pure but for the statements handed in. */
export interface Statements {
  /** The newest full list; a segment that an older statement mentions is out since then. */
  floor: Stamp | undefined;
  /** The newest statement for each segment that was ever mentioned. */
  readonly bySegment: Map<string, Statement>;
}

export interface Statement {
  readonly member: boolean;
  readonly stamp: Stamp;
}

/** Statements as they are stored: the segments that the entity is in and out of, and of each in turn time, arrival and position. */
export interface MembershipDocument {
  readonly _id: EntityId;
  /** Another one for each write. */
  readonly revision?: string;
  readonly floor?: readonly number[];
  readonly in?: readonly string[];
  readonly inAt?: readonly number[];
  readonly out?: readonly string[];
  readonly outAt?: readonly number[];
  /** Nothing else is kept of an erased entity, and nothing will be. */
  readonly dead?: true;
}

/** Adds what a message says. Says whether that changed anything. */
export function applyChange(statements: Statements, { stamp, add, remove, full }: MembershipChange): boolean {
  let changed = false;
  if (full && (statements.floor === undefined || isOlder(statements.floor, stamp))) {
    endOlder(statements, stamp);
    statements.floor = stamp;
    changed = true;
  }
  const { floor, bySegment } = statements;
  const isVoid = floor !== undefined && isOlder(stamp, floor);
  for (const [segments, member] of [
    [remove, false],
    [add, true],
  ] as const) {
    for (const segment of segments) {
      if (!isVoid) changed = state(statements, segment, { member, stamp }) || changed;
      else if (!bySegment.has(segment)) {
        bySegment.set(segment, { member: false, stamp: floor });
        changed = true;
      }
    }
  }
  return changed;
}

/** Adds what was said of another that is the same entity. Its full list says nothing of what only this one was in. */
export function unite(statements: Statements, other: Statements): boolean {
  let changed = false;
  for (const [segment, statement] of other.bySegment) changed = state(statements, segment, statement) || changed;
  if (other.floor !== undefined && (statements.floor === undefined || isOlder(statements.floor, other.floor))) {
    statements.floor = other.floor;
    changed = true;
  }
  return changed;
}

export function forgetSegment(statements: Statements, segment: string): boolean {
  return statements.bySegment.delete(segment);
}

export function statementsOf(document: MembershipDocument | undefined): Statements {
  const bySegment = new Map<string, Statement>();
  for (const [segments, stamps, member] of [
    [document?.in, document?.inAt, true],
    [document?.out, document?.outAt, false],
  ] as const) {
    for (const [at, segment] of (segments ?? []).entries()) {
      bySegment.set(segment, { member, stamp: stampAt(stamps ?? [], at) });
    }
  }
  return { floor: document?.floor && stampAt(document.floor, 0), bySegment };
}

export function membershipDocument(entity: EntityId, statements: Statements, revision: string): MembershipDocument {
  const part = (member: boolean) => [...statements.bySegment].filter(([, statement]) => statement.member === member);
  const [isIn, isOut] = [part(true), part(false)];
  return {
    _id: entity,
    revision,
    ...(statements.floor === undefined ? {} : { floor: valuesOf(statements.floor) }),
    in: isIn.map(([segment]) => segment),
    inAt: isIn.flatMap(([, { stamp }]) => valuesOf(stamp)),
    out: isOut.map(([segment]) => segment),
    outAt: isOut.flatMap(([, { stamp }]) => valuesOf(stamp)),
  };
}

/** The newest statement stands; of two with one stamp, that the entity is a member. */
function state({ bySegment }: Statements, segment: string, said: Statement): boolean {
  const kept = bySegment.get(segment);
  const order = kept === undefined ? -1 : compareStamps(kept.stamp, said.stamp);
  if (order > 0 || (order === 0 && (kept?.member === true || !said.member))) return false;
  bySegment.set(segment, said);
  return true;
}

function endOlder({ bySegment }: Statements, stamp: Stamp): void {
  for (const [segment, kept] of bySegment) {
    if (isOlder(kept.stamp, stamp)) bySegment.set(segment, { member: false, stamp });
  }
}

function isOlder(a: Stamp, b: Stamp): boolean {
  return compareStamps(a, b) < 0;
}

function valuesOf({ time, arrival, position }: Stamp): number[] {
  return [time, arrival, position];
}

function stampAt(values: readonly number[], at: number): Stamp {
  const [time = 0, arrival = 0, position = 0] = values.slice(3 * at, 3 * at + 3);
  return { time, arrival, position };
}
