import type { YieldBudget } from "../../async/yielding.js";
import type { CutOff } from "../ports.js";
import type { SegmentDeletions } from "../profile/deleted-segments.js";
import { type EntityId, namedTime, type StoredEntity } from "../profile/entity.js";
import type { EntityDocument } from "../profile/entity-document.js";
import type { IdentityHash } from "../profile/identity.js";
import { type MergedDrafts, type OpenProfile, ProfileDraft } from "../profile/profile-draft.js";
import { type BatchMessage, documentOf, segmentsNamedIn } from "./message.js";

/** Stored state that a batch is planned from. */
export interface FoundProfiles {
  /** Owner of each identity; undefined: no entity. The owner may be being erased. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /** Live profiles among the owners, by id. */
  readonly profiles: ReadonlyMap<EntityId, OpenProfile>;
  /** Live profiles that cannot be decrypted because they have no key. */
  readonly unreadable: readonly StoredEntity[];
  /** Newest deletion of each identity that was ever deleted. */
  readonly cutOffs: ReadonlyMap<IdentityHash, CutOff>;
  /** Deletions of the segments that the messages name. */
  readonly deletions: SegmentDeletions;
}

/** The result of planning a batch. */
export interface BatchPlan {
  /** Accepted messages in order, each with its final profile. */
  readonly messages: readonly { readonly message: BatchMessage; readonly profile: ProfileDraft }[];
  /** Final profiles, with everything that was merged into them. */
  readonly profiles: readonly ProfileDraft[];
  readonly refused: readonly RefusedMessage[];
}

export interface RefusedMessage {
  readonly message: BatchMessage;
  readonly reason: LimitReason;
}

/** Time after which other requests run between two messages, ms. */
const PAUSE_MS = 20;

/**
 * Plans the messages in order, except suppressed ones. A message with identities of several profiles merges them into
 * the oldest. An identity without a live owner goes to the profile of the message.
 */
export async function planBatch(
  batch: readonly BatchMessage[],
  { owners, profiles, cutOffs, deletions }: FoundProfiles,
  limits: PlanLimits,
  { newId, turns }: { newId(): EntityId; turns: Pick<YieldBudget, "pauses"> },
): Promise<BatchPlan> {
  const pause = turns.pauses(PAUSE_MS);
  const limitReached = limitCheck(limits);
  const drafts = new Map<EntityId, ProfileDraft>();
  const holders = new Map<IdentityHash, ProfileDraft>();
  const messages: { message: BatchMessage; at: ProfileDraft }[] = [];
  const refused: RefusedMessage[] = [];

  function storedHolder(hash: IdentityHash): ProfileDraft | undefined {
    const id = owners.get(hash);
    const profile = id === undefined ? undefined : profiles.get(id);
    if (profile === undefined) return undefined;
    const known = drafts.get(profile.entity.id);
    if (known !== undefined) return known.root;
    const draft = ProfileDraft.stored(profile);
    drafts.set(draft.id, draft);
    return draft;
  }

  function holdersOf(hashes: readonly IdentityHash[]): ProfileDraft[] {
    const named = new Set(hashes.flatMap((hash) => holders.get(hash)?.root ?? storedHolder(hash) ?? []));
    return [...named].sort(byAge);
  }

  function start({ table, version }: BatchMessage): ProfileDraft {
    const draft = ProfileDraft.fresh(newId(), table.name, version.arrival, drafts.size);
    drafts.set(draft.id, draft);
    return draft;
  }

  for (const message of batch) {
    await pause();
    if (message.hashes.some((hash) => isSuppressed(message, cutOffs.get(hash)))) continue;
    const named = holdersOf(message.hashes);
    const document = documentOf(message);
    const reason = limitReached(named, message, document);
    if (reason !== undefined) {
      refused.push({ message, reason });
      continue;
    }
    const at = named[0] ?? start(message);
    at.take(message, document, named.slice(1), deletions);
    for (const hash of message.hashes) holders.set(hash, at);
    messages.push({ message, at });
  }
  return {
    messages: messages.map(({ message, at }) => ({ message, profile: at.root })),
    profiles: [...new Set(messages.map(({ at }) => at.root))],
    refused,
  };
}

/**
 * Returns whether the deletion of an identity covers the message: it names an event time that is not later, or it may
 * have been stored before the deletion and erased by it.
 */
function isSuppressed({ version, possiblyStoredSince: since }: BatchMessage, cutOff: CutOff | undefined): boolean {
  if (cutOff === undefined) return false;
  const time = namedTime(version);
  return (time !== undefined && time <= cutOff.time) || (since !== undefined && cutOff.position > since);
}

function byAge(a: ProfileDraft, b: ProfileDraft): number {
  return a.born - b.born || a.order - b.order || (a.id < b.id ? -1 : 1);
}

export type LimitReason =
  | "too_many_values"
  | "entity_too_large"
  | "merge_too_large"
  | "too_many_segments"
  | "segments_too_large";

export interface PlanLimits {
  /** Maximum bytes of a profile's document. */
  readonly entityBytes: number;
  /** Maximum segments with an update per profile, and maximum bytes of their ids. */
  readonly segments: number;
  readonly segmentBytes: number;
}

/** Maximum bytes of 256 characters. */
const MAX_SEGMENT_ID_BYTES = 1_024;

/**
 * Returns the check for limits: it returns the limit that a message for these profiles would exceed, or undefined. It
 * always allows a change that makes a profile smaller.
 */
function limitCheck({ entityBytes, segments, segmentBytes }: PlanLimits) {
  // Cache of the last union: many messages in a row may need the same merge.
  let last: { readonly of: string; readonly drafts: MergedDrafts } | undefined;

  function unionOf(named: readonly ProfileDraft[]): MergedDrafts {
    if (named.length < 2) return ProfileDraft.united(named);
    const of = named.map(({ state }) => state).join();
    if (last?.of !== of) last = { of, drafts: ProfileDraft.united(named) };
    return last.drafts;
  }

  return (
    named: readonly ProfileDraft[],
    { table, message }: BatchMessage,
    document: EntityDocument,
  ): LimitReason | undefined => {
    const { draft, memberships } = unionOf(named);
    const merges = named.length > 1;
    if ((merges || draft.lacks(document.identities)) && draft.valuesWith(document.identities) > table.maxValues) {
      return "too_many_values";
    }
    const bytes = draft.bytesWith(document, entityBytes);
    if (bytes > entityBytes && (merges || bytes > draft.bytes)) return "entity_too_large";
    // An outdated value changes no profile but is stored in the history, so it is limited too.
    if (draft.lateBytes(document) > entityBytes) return "entity_too_large";
    const said = segmentsNamedIn(message);
    const size = memberships.sizeWith(said);
    if (size <= Math.max(0, ...named.map((one) => one.segments))) return undefined;
    if (size > segments) return "too_many_segments";
    const mayBeLarge = size * MAX_SEGMENT_ID_BYTES > segmentBytes;
    return mayBeLarge && memberships.idBytesWith(said) > segmentBytes ? "segments_too_large" : undefined;
  };
}
