import type { EntityKeys, EntityStore, MembershipIndex, Suppression } from "../ports.js";
import { openDocuments } from "../profile/encryption.js";
import { type EntityId, idsOf, type StoredEntity } from "../profile/entity.js";
import type { Json } from "../profile/entity-document.js";
import type { Tables } from "../profile/entity-tables.js";
import { valuesByField } from "../profile/identity.js";
import { attributesOf } from "./read-entity.js";

export interface MembersDependencies {
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
  /** Attributes by name, as in a read of the entity. */
  readonly attributes: ReadonlyMap<string, Json>;
  /** Event time of the newest statement of the membership, Unix ms. */
  readonly since: number;
}

/** At least one member, or the end of the list, with the id after which a limited list continues. */
export type Listed =
  | { readonly members: readonly Member[] }
  | { readonly count: number; readonly next: EntityId | null };

/**
 * Yields at most `limit` members of a segment after `after`, in order of their ids. Each piece is checked against
 * accepted deletions right before it is returned: a piece requested after a DELETE was answered does not contain that
 * entity.
 */
export type ListMembers = (
  segment: string,
  page: { readonly after?: EntityId; readonly limit?: number },
) => AsyncGenerator<Listed, void, void>;

/** Maximum profiles read at once and their approximate encrypted bytes: a profile may take 1 MiB. */
const MAX_PAGE = 200;
const PAGE_BYTES = 1_048_576;
/** Profiles read first; the number grows while they are small. */
const FIRST_PAGE = 10;

export function listMembers({
  memberships,
  entities,
  suppression,
  entityKeys,
  tables,
}: MembersDependencies): ListMembers {
  return async function* (segment, { after, limit = Number.POSITIVE_INFINITY }) {
    let last = after;
    let count = 0;
    let size = FIRST_PAGE;
    while (count < limit) {
      const most = Math.min(size, limit - count);
      const ids = await memberships.members(segment, last, most);
      const profiles = [...(await entities.load(ids)).values()];
      const members = await membersOf(segment, profiles);
      if (members.length > 0) yield { members };
      count += members.length;
      last = ids.at(-1) ?? last;
      if (ids.length < most) return yield { count, next: null };
      const bytes = profiles.reduce((sum, { sealed }) => sum + sealed.length, 0);
      size = bytes * 2 <= PAGE_BYTES ? Math.min(2 * size, MAX_PAGE) : Math.max(1, Math.floor(size / 2));
    }
    const [another] = await memberships.members(segment, last, 1);
    yield { count, next: another === undefined ? null : (last ?? null) };
  };

  /** Returns the members among these profiles that can be decrypted. The check for deletions is the last step. */
  async function membersOf(segment: string, profiles: readonly StoredEntity[]): Promise<Member[]> {
    const documents = await openDocuments(entityKeys, profiles);
    const erased = await suppression.erased(profiles.flatMap(idsOf));
    return profiles
      .flatMap((profile, i) => {
        const statement = profile.memberships.statements.get(segment);
        const document = documents[i];
        const isLive = statement?.member === true && !idsOf(profile).some((id) => erased.has(id));
        if (!isLive || document === undefined) return [];
        const attributes = attributesOf(document, tables.get(profile.table) ?? { identities: [] });
        return { id: profile.id, identities: valuesByField(document.identities), attributes, since: statement.time };
      })
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
