import type { EntityStore, History, SegmentNames } from "../ports.js";
import { idsOf } from "../profile/entity.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity, Identity } from "../profile/identity.js";
import { segmentsIn } from "../profile/memberships.js";
import { liveHolder } from "./read-entity.js";

export interface ExplainParts {
  readonly entities: Pick<EntityStore, "find">;
  readonly history: Pick<History, "at">;
  readonly segments: SegmentNames;
  readonly hashIdentity: HashIdentity;
}

/** Why an entity belongs to a segment. Times are Unix ms. */
export interface SegmentReason {
  readonly id: string;
  readonly name: string;
  /** Event time of the newest statement that says so. */
  readonly since: number;
  /** When the message arrived that made it. */
  readonly arrival: number;
  /** The stream of that message; undefined when the message is not kept any more. */
  readonly stream: string | undefined;
}

/** The segments of the entity that an identity leads to, by id; undefined when there is none, or it is being erased. */
export type ExplainSegments = (table: Table, identity: Identity) => Promise<SegmentReason[] | undefined>;

export function explainSegments({ entities, history, segments, hashIdentity }: ExplainParts): ExplainSegments {
  return async (table, identity) => {
    const entity = await liveHolder(entities, hashIdentity(table.name, identity));
    if (entity === undefined) return undefined;
    const { statements } = entity.memberships;
    const ids = segmentsIn(entity.memberships);
    const said = new Map(
      ids.flatMap((id) => statements.get(id) ?? []).map((one) => [`${one.arrival} ${one.position}`, one]),
    );
    const [names, messages] = await Promise.all([segments.names(ids), history.at(idsOf(entity), [...said.values()])]);
    const streams = new Map(messages.map(({ arrival, position, stream }) => [`${arrival} ${position}`, stream]));
    return ids.flatMap((id) => {
      const statement = statements.get(id);
      if (statement === undefined) return [];
      const { time, arrival, position } = statement;
      return [{ id, name: names.get(id) ?? id, since: time, arrival, stream: streams.get(`${arrival} ${position}`) }];
    });
  };
}
