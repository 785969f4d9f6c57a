import { yieldWhenDue } from "../../async/yielding.js";
import type { CatalogueStore } from "../../catalogue/ports.js";
import type { Clock } from "../../clock.js";
import { found } from "../../errors.js";
import type { Reservation } from "../../memory-budget.js";
import type { CurrentRules } from "../../segments/current-rules.js";
import type { Explanation } from "../../segments/rule-set.js";
import type { EntityKeys, EntityStore, History } from "../ports.js";
import { withFacts } from "../profile/complete-facts.js";
import { idsOf, type MembershipUpdate, type StoredEntity, segmentsIn, storedBytes } from "../profile/entity.js";
import type { Table } from "../profile/entity-tables.js";
import type { HashIdentity, Identity } from "../profile/identity.js";
import { decodeProfile, ProfileDraft } from "../profile/profile-draft.js";
import { liveOwner } from "./read-entity.js";
import { type UnsealDependencies, unsealProfile } from "./unseal-profile.js";

export interface ExplainDependencies extends UnsealDependencies {
  readonly entities: Pick<EntityStore, "find">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly history: Pick<History, "at" | "page">;
  readonly segments: Pick<CatalogueStore, "segmentsById" | "rules">;
  readonly rules: CurrentRules;
  readonly hashIdentity: HashIdentity;
  readonly clock: Clock;
}

/** A segment, whether an entity is a member of it, and why or why not. */
export interface ExplainedMembership {
  readonly id: string;
  readonly name: string;
  /** The stored membership. */
  readonly member: boolean;
  /** Event time of the newest update of the membership, or time of the decision, Unix ms; undefined if not a member. */
  readonly since: number | undefined;
  /** Null where rules are not explained. */
  readonly by: MessageReason | Explanation | null;
}

/** The message with the newest update of a membership. Times are Unix ms. */
export interface MessageReason {
  readonly time: number;
  readonly arrival: number;
  /** Undefined when the message is no longer stored. */
  readonly stream: string | undefined;
}

/** Memory of the reasons per byte of the stored profile. */
const REASON_COPIES = 4;

/**
 * Returns the segments of the entity with this identity, by id; undefined when there is none or it is being erased.
 * `only` selects a segment, also one by rule of which the entity is no member; throws `not-found` if there is none.
 * Rejects as `unsealProfile` does.
 */
export async function explainSegments(
  dependencies: ExplainDependencies,
  table: Table,
  identity: Identity,
  { only, withRules }: { readonly only?: string | undefined; readonly withRules: boolean },
  memory: Reservation,
): Promise<ExplainedMembership[] | undefined> {
  const { entities, segments, hashIdentity } = dependencies;
  const entity = await liveOwner(entities, hashIdentity(table.name, identity));
  if (entity === undefined) return undefined;
  memory.reserveUnlessSmall(REASON_COPIES * storedBytes(entity));
  const { updates } = entity.memberships;
  const ids = only === undefined ? segmentsIn(entity.memberships) : [only];
  const named = await segments.segmentsById(ids);
  if (only !== undefined) found(named.get(only), "segment");
  const isByRule = (id: string) => named.get(id)?.byRule !== undefined;
  const ruled = ids.filter((id) => isByRule(id) && named.get(id)?.table === table.name);
  const [streams, explanations] = await Promise.all([
    streamsOf(
      dependencies,
      entity,
      ids.filter((id) => !isByRule(id)).flatMap((id) => updates.get(id) ?? []),
    ),
    withRules ? explainRules(dependencies, entity, ruled, memory) : new Map<string, Explanation>(),
  ]);
  return (
    explanations &&
    ids.flatMap((id) => {
      const update = updates.get(id);
      const name = named.get(id)?.name ?? id;
      const byRule = explanations.get(id) ?? null;
      if (update?.member !== true) {
        return ruled.includes(id) ? { id, name, member: false, since: undefined, by: byRule } : [];
      }
      const { time, arrival } = update;
      const by = isByRule(id) ? byRule : { time, arrival, stream: streams.get(placeOf(update)) };
      return { id, name, member: true, since: time, by };
    })
  );
}

/** Returns the streams of the messages with these updates, by their places. */
async function streamsOf(
  { history }: Pick<ExplainDependencies, "history">,
  entity: StoredEntity,
  updates: readonly MembershipUpdate[],
): Promise<ReadonlyMap<string, string>> {
  const places = new Map(updates.map((update) => [placeOf(update), update]));
  const messages = await history.at(idsOf(entity), [...places.values()]);
  return new Map(messages.map((message) => [placeOf(message), message.stream]));
}

function placeOf({ arrival, position }: Pick<MembershipUpdate, "arrival" | "position">): string {
  return `${arrival} ${position}`;
}

/** Evaluates the rules of segments; undefined when the entity is being erased. */
async function explainRules(
  dependencies: ExplainDependencies,
  entity: StoredEntity,
  ids: readonly string[],
  memory: Reservation,
): Promise<ReadonlyMap<string, Explanation> | undefined> {
  const explanations = new Map<string, Explanation>();
  if (ids.length === 0) return explanations;
  const { entityKeys, segments, rules: rulesOf, clock } = dependencies;
  const [keys, { generation }] = await Promise.all([entityKeys.read([entity.id]), segments.rules()]);
  const rules = await rulesOf(generation);
  const profile = await unsealProfile(dependencies, keys, entity, memory, (plain) => decodeProfile(entity, plain));
  if (profile === undefined) return undefined;
  const draft = ProfileDraft.stored(await withFacts(dependencies, profile, rules), rules);
  const now = clock();
  for (const id of ids) {
    const explanation = draft.explain(id, now);
    if (explanation !== undefined) explanations.set(id, explanation);
    await yieldWhenDue();
  }
  return explanations;
}
