import type { Reservation } from "../../memory-budget.js";
import type { EntityStore, History, SegmentNames } from "../ports.js";
import { idsOf, storedBytes } from "../profile/entity.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity, Identity } from "../profile/identity.js";
import { segmentsIn } from "../profile/memberships.js";
import { liveOwner } from "./read-entity.js";

export interface ExplainDependencies {
  readonly entities: Pick<EntityStore, "find">;
  readonly history: Pick<History, "at">;
  readonly segments: SegmentNames;
  readonly hashIdentity: HashIdentity;
}

/** Reason why an entity belongs to a segment. Times are Unix ms. */
export interface SegmentReason {
  readonly id: string;
  readonly name: string;
  /** Event time of the newest update of the membership. */
  readonly since: number;
  /** Arrival of the message with that update. */
  readonly arrival: number;
  /** Stream of that message; undefined when the message is no longer stored. */
  readonly stream: string | undefined;
}

/** Memory of the reasons per byte of the stored profile. */
const REASON_COPIES = 4;

/** Returns the segments of the entity with this identity, by id; undefined when there is none or it is being erased. */
export async function explainSegments(
  { entities, history, segments, hashIdentity }: ExplainDependencies,
  table: Table,
  identity: Identity,
  memory: Reservation,
): Promise<SegmentReason[] | undefined> {
  const entity = await liveOwner(entities, hashIdentity(table.name, identity));
  if (entity === undefined) return undefined;
  memory.reserveUnlessSmall(REASON_COPIES * storedBytes(entity));
  const { updates } = entity.memberships;
  const ids = segmentsIn(entity.memberships);
  const reasons = new Map(
    ids.flatMap((id) => updates.get(id) ?? []).map((update) => [`${update.arrival} ${update.position}`, update]),
  );
  const [named, messages] = await Promise.all([
    segments.segmentsById(ids),
    history.at(idsOf(entity), [...reasons.values()]),
  ]);
  const streams = new Map(messages.map(({ arrival, position, stream }) => [`${arrival} ${position}`, stream]));
  return ids.flatMap((id) => {
    const update = updates.get(id);
    if (update === undefined) return [];
    const { time, arrival, position } = update;
    return [
      { id, name: named.get(id)?.name ?? id, since: time, arrival, stream: streams.get(`${arrival} ${position}`) },
    ];
  });
}
