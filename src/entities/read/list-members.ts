import { yieldWhenDue } from "../../async/yielding.js";
import type { Reservation } from "../../memory-budget.js";
import type { EntityKeys, EntityStore, MembershipIndex, Suppression } from "../ports.js";
import { type EntityId, idsOf, type StoredEntity, storedBytes } from "../profile/entity.js";
import { decodeDocument, type EntityDocument, type Json } from "../profile/entity-document.js";
import type { Table, Tables } from "../profile/entity-tables.js";
import { valuesByField } from "../profile/identity.js";
import { attributesOf } from "./read-entity.js";
import { type UnsealDependencies, undefinedIfDamaged, unsealProfile, yieldIfLarge } from "./unseal-profile.js";

export interface MembersDependencies extends UnsealDependencies {
  readonly memberships: Pick<MembershipIndex, "members">;
  readonly entities: Pick<EntityStore, "load">;
  readonly suppression: Pick<Suppression, "erased">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly tables: Tables;
}

/** A member of a segment. */
export interface Member {
  /** Values by field. */
  readonly identities: ReadonlyMap<string, readonly string[]>;
  /** Requested attributes by name, as in a read of the entity; undefined when none were requested. */
  readonly attributes: ReadonlyMap<string, Json> | undefined;
  /** Event time of the newest update of the membership, Unix ms. */
  readonly since: number;
}

/** At least one member, or the end of the list, with the id after which a limited list continues. */
export type Listed =
  | { readonly members: readonly Member[] }
  | { readonly count: number; readonly next: EntityId | null };

/** Maximum ids read at once. */
const MAX_PAGE = 200;
/** Profiles of the first piece. The number doubles until one load cannot return all (see `EntityStore.load`). */
const FIRST_PIECE = 10;
/** Copies of a piece in memory: as stored, and as sent. */
const COPIES = 2;

/**
 * Yields at most `limit` members of a segment after `after`, in order of their ids; omits members whose profile is
 * damaged. Each piece is checked against accepted deletions right before it is returned: a piece requested after a
 * DELETE was answered does not contain that entity. Reserves memory for one piece at a time.
 */
export async function* listMembers(
  dependencies: MembersDependencies,
  segment: string,
  page: { readonly after?: EntityId; readonly limit?: number; readonly fields?: readonly string[] },
  memory: Reservation,
): AsyncGenerator<Listed, void, void> {
  const { memberships, entities } = dependencies;
  const { after, limit = Number.POSITIVE_INFINITY, fields } = page;
  const wanted = fields && new Set(fields);
  let last = after;
  let count = 0;
  let size = FIRST_PIECE;
  while (count < limit) {
    const most = Math.min(MAX_PAGE, limit - count);
    const ids = await memberships.members(segment, last, most);
    for (let waiting: readonly EntityId[] = ids; waiting.length > 0; ) {
      const piece = waiting.slice(0, size);
      const { profiles, left } = await entities.load(piece);
      waiting = [...left, ...waiting.slice(size)];
      size = left.length === 0 ? 2 * size : piece.length - left.length;
      const found = [...profiles.values()];
      const release = memory.reserveUnlessSmall(found.reduce((sum, profile) => sum + COPIES * storedBytes(profile), 0));
      const members = await membersOf(dependencies, segment, found, wanted, memory);
      if (members.length > 0) yield { members };
      count += members.length;
      release();
    }
    last = ids.at(-1) ?? last;
    if (ids.length < most) return yield { count, next: null };
  }
  const [another] = await memberships.members(segment, last, 1);
  yield { count, next: another === undefined ? null : (last ?? null) };
}

/** Returns the members among these profiles that can be decrypted. The check for deletions is the last step. */
async function membersOf(
  dependencies: MembersDependencies,
  segment: string,
  profiles: readonly StoredEntity[],
  wanted: ReadonlySet<string> | undefined,
  memory: Reservation,
): Promise<Member[]> {
  const { entityKeys, suppression, tables } = dependencies;
  const keys = await entityKeys.read(profiles.map(({ id }) => id));
  const shown: { readonly profile: StoredEntity; readonly member: Member }[] = [];
  for (const profile of profiles) {
    const update = profile.memberships.updates.get(segment);
    if (update?.member !== true) continue;
    await yieldWhenDue();
    memory.refuseIfOver();
    const member = await unsealProfile(dependencies, keys, profile, memory, async (plain): Promise<Member> => {
      const document = decodeDocument(plain);
      await yieldIfLarge(plain);
      return {
        identities: valuesByField(document.identities),
        attributes: wanted && wantedOf(tables.get(profile.table), document, wanted),
        since: update.time,
      };
    }).catch(undefinedIfDamaged);
    if (member !== undefined) shown.push({ profile, member });
  }
  const erased = await suppression.erased(shown.flatMap(({ profile }) => idsOf(profile)));
  return shown.flatMap(({ profile, member }) => (idsOf(profile).some((id) => erased.has(id)) ? [] : member));
}

/** Returns the wanted attributes, as in a read of the entity. */
export function wantedOf(table: Table | undefined, document: EntityDocument, wanted: ReadonlySet<string>) {
  const attributes = attributesOf(document, table ?? { identities: [] });
  return new Map([...attributes].filter(([name]) => wanted.has(name)));
}
