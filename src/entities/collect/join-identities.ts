import type { IdentityHash } from "../profile/identity.js";
import type { BatchMessage } from "../profile/message.js";
import type { ProfileDraft } from "../profile/profile-draft.js";

/** The identities of a message, divided. */
export interface JoinedIdentities {
  /** The profiles that the message unites; empty for a new person. */
  readonly profiles: ReadonlySet<ProfileDraft>;
  /** The message with the identities that these profiles get. */
  readonly message: BatchMessage;
  /** Fields of the identities that are left out: they stay with their owners. */
  readonly leftOut: readonly string[];
}

/**
 * Decides which identities of a message are one person. Two people never become one by accident: if two profiles, or a
 * profile and a new value, both have a value of a protected field, only a message that names a value of that field for
 * each of them unites them. The identities are taken in the order of the message, the strongest first. The first
 * decides the profile, and each one that would break the rule is left out. A new value of a protected field counts as a
 * profile. `ownerOf` returns the profile that has an identity; undefined: none.
 */
export function joinIdentities(
  batchMessage: BatchMessage,
  ownerOf: (hash: IdentityHash) => ProfileDraft | undefined,
): JoinedIdentities {
  const { table, hashes, message } = batchMessage;
  const { identities } = message;
  const owners = hashes.map(ownerOf);
  const profiles = new Set<ProfileDraft>();
  const accepted = new Set<number>();

  function isJoined(position: number): boolean {
    const owner = owners[position];
    return owner === undefined ? accepted.has(position) : profiles.has(owner);
  }

  function hasField(field: string): boolean {
    if ([...profiles].some((profile) => profile.attributes.hasField(field))) return true;
    return identities.some((identity, position) => identity.field === field && accepted.has(position));
  }

  /** Returns whether the message names a value of the field for the person, and another one for the owner. */
  function namesBoth(field: string, owner: ProfileDraft | undefined): boolean {
    const named = identities.flatMap((identity, position) => (identity.field === field ? position : []));
    return named.some(isJoined) && (owner === undefined || named.some((position) => owners[position] === owner));
  }

  function isAllowed(position: number): boolean {
    const owner = owners[position];
    if (owner !== undefined && profiles.has(owner)) return true;
    for (const field of table.protectedFields) {
      const brings = owner === undefined ? identities[position]?.field === field : owner.attributes.hasField(field);
      if (brings && hasField(field) && !namesBoth(field, owner)) return false;
    }
    return true;
  }

  const leftOut: string[] = [];
  identities.forEach(({ field }, position) => {
    if (!isAllowed(position)) {
      leftOut.push(field);
      return;
    }
    accepted.add(position);
    const owner = owners[position];
    if (owner !== undefined) profiles.add(owner);
  });
  if (leftOut.length === 0) return { profiles, message: batchMessage, leftOut };
  const isAccepted = (_: unknown, position: number) => accepted.has(position);
  return {
    profiles,
    message: {
      ...batchMessage,
      hashes: hashes.filter(isAccepted),
      message: { ...message, identities: identities.filter(isAccepted) },
    },
    leftOut,
  };
}
