import { yieldWhenDue } from "../../async/yielding.js";
import type { Clock } from "../../clock.js";
import type { ValidationIssue } from "../../errors.js";
import type { Rules } from "../../segments/current-rules.js";
import type { CutOff } from "../ports.js";
import { type EntityId, namedTime, type SegmentDeletions, type StoredEntity } from "../profile/entity.js";
import type { EntityDocument } from "../profile/entity-document.js";
import { tooManyValues } from "../profile/entity-tables.js";
import type { IdentityHash } from "../profile/identity.js";
import { type BatchMessage, documentOf, type Message, segmentsNamedIn } from "../profile/message.js";
import { type DecodedProfile, ProfileDraft } from "../profile/profile-draft.js";
import { joinIdentities } from "./join-identities.js";

/** Stored state that a batch is planned from. */
export interface FoundProfiles {
  /** Owner of each identity; undefined: no entity. An accepted deletion may cover the owner. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /** Live profiles among the owners, by id. */
  readonly profiles: ReadonlyMap<EntityId, DecodedProfile>;
  /** Live profiles that cannot be decrypted because they have no key. */
  readonly unreadable: readonly StoredEntity[];
  /** Newest deletion of each identity that was ever deleted. */
  readonly cutOffs: ReadonlyMap<IdentityHash, CutOff>;
  /** Deletions of the segments that the messages name. */
  readonly deletions: SegmentDeletions;
  readonly rules: Rules;
}

/** The result of planning a batch. */
export interface BatchPlan {
  /** Accepted messages in order, each with its final profile. */
  readonly messages: readonly { readonly message: BatchMessage; readonly profile: ProfileDraft }[];
  /** Final profiles, with everything that was merged into them and the decisions of rules. */
  readonly profiles: readonly ProfileDraft[];
  readonly outcomes: Outcomes;
  /** Number of decisions of rules that have changed. */
  readonly decisions: number;
}

/** Outcomes of the messages that are not stored as sent. */
export type Outcomes = ReadonlyMap<Message, Outcome>;

export interface Outcome {
  /** The reason why it is not stored. */
  readonly issue?: LimitIssue;
  /** Fields of the identities that were left out (see `joinIdentities`). */
  readonly leftOut?: readonly string[];
}

export type LimitIssue = Omit<ValidationIssue, "path">;

export interface PlanDependencies {
  /** Returns a new random entity id. */
  newId(): EntityId;
  readonly clock: Clock;
}

/** Maximum segments of an entity, including the ones it left. */
const MAX_SEGMENTS = 10_000;

/**
 * Plans the messages in order, except suppressed ones and repeated ids. A message whose identities are one person (see
 * `joinIdentities`) merges their profiles into the oldest. An identity without a live owner goes to the profile of the
 * message.
 */
export async function planBatch(
  batch: readonly BatchMessage[],
  { owners, profiles, cutOffs, deletions, rules }: FoundProfiles,
  { newId, clock }: PlanDependencies,
): Promise<BatchPlan> {
  const drafts = new Map<EntityId, ProfileDraft>();
  const newOwners = new Map<IdentityHash, ProfileDraft>();
  const messages: { message: BatchMessage; profile: ProfileDraft }[] = [];
  const outcomes = new Map<Message, Outcome>();
  const plannedIds = new Set<string>();

  function storedOwner(hash: IdentityHash): ProfileDraft | undefined {
    const profile = profiles.get(owners.get(hash) ?? "");
    if (profile === undefined) return undefined;
    const draft = drafts.get(profile.entity.id) ?? ProfileDraft.stored(profile, rules);
    drafts.set(draft.id, draft);
    return draft;
  }

  const ownerOf = (hash: IdentityHash) => (newOwners.get(hash) ?? storedOwner(hash))?.root;

  for (const message of batch) {
    await yieldWhenDue();
    if (plannedIds.has(message.id)) continue;
    if (isSuppressed(message, cutOffs)) continue;
    const person = joinIdentities(message, ownerOf);
    const [oldest, ...others] = [...person.profiles].sort(byAge);
    const { table, version } = message;
    const first = oldest ?? ProfileDraft.fresh(newId(), table.name, version.arrival, messages.length, rules);
    const profile = others.length === 0 ? first : first.mergedWith(others);
    const document = documentOf(person.message);
    const issue = issueByRule(message, rules) ?? exceededLimit(profile, [...person.profiles], message, document);
    if (issue !== undefined) {
      outcomes.set(message.message, { issue });
      continue;
    }
    profile.apply(person.message, document, others.length === 0 ? [] : [first, ...others], deletions);
    for (const hash of person.message.hashes) newOwners.set(hash, profile);
    if (person.leftOut.length > 0) outcomes.set(message.message, { leftOut: person.leftOut });
    plannedIds.add(message.id);
    messages.push({ message, profile });
  }
  const planned = messages.map(({ message, profile }) => ({ message, profile: profile.root }));
  const changed = [...new Set(planned.map(({ profile }) => profile))];
  const now = clock();
  let decisions = 0;
  for (const profile of changed) {
    decisions += profile.decide(now);
    await yieldWhenDue();
  }
  return { messages: planned, profiles: changed, outcomes, decisions };
}

/** A full list speaks of pushed segments only; any other message must not name a segment by rule. */
function issueByRule({ message }: BatchMessage, rules: Rules): LimitIssue | undefined {
  if (message.segments?.full) return undefined;
  return segmentsNamedIn(message).some((id) => rules.segments.has(id)) ? SEGMENT_BY_RULE : undefined;
}

/**
 * Returns whether a deletion covers the message: the message has an event time that is not later than the deletion of
 * one of its identities, or a deletion may have erased an earlier copy of the message. The profile of a copy has the
 * first identity, which is never left out, so a deletion that erased the copy covers that identity.
 */
function isSuppressed(
  { version, possiblyStoredSince: since, hashes }: BatchMessage,
  cutOffs: FoundProfiles["cutOffs"],
): boolean {
  const time = namedTime(version);
  if (time !== undefined && hashes.some((hash) => time <= (cutOffs.get(hash)?.time ?? Number.NEGATIVE_INFINITY))) {
    return true;
  }
  const [first] = hashes;
  return since !== undefined && (cutOffs.get(first as IdentityHash)?.position ?? "") > since;
}

function byAge(a: ProfileDraft, b: ProfileDraft): number {
  return a.born - b.born || a.order - b.order || (a.id < b.id ? -1 : 1);
}

/** Maximum bytes of an entity's document. */
const ENTITY_BYTES = 1_048_576;

/**
 * Maximum bytes of the ids of an entity's segments. A store may hold each id twice, in one document of at most 16 MiB.
 */
const SEGMENT_BYTES = 6 * 1_048_576;

/** Maximum bytes of 256 characters. */
const MAX_SEGMENT_ID_BYTES = 1_024;

const SEGMENT_BY_RULE = {
  code: "segment_by_rule",
  message: "A message cannot add or remove a segment by rule",
};
const TOO_LARGE = { code: "entity_too_large", message: `An entity has at most ${ENTITY_BYTES} bytes` };
const TOO_MANY_SEGMENTS = {
  code: "too_many_segments",
  message: `An entity has at most ${MAX_SEGMENTS} segments, including those it left`,
};
const SEGMENTS_TOO_LARGE = {
  code: "segments_too_large",
  message: `The segment ids of an entity take at most ${SEGMENT_BYTES} bytes, including those it left`,
};

/**
 * Returns the limit that a message would make a profile exceed; undefined if none. `from` are the profiles that were
 * merged into it. A change that makes a profile smaller is always allowed.
 */
function exceededLimit(
  { attributes, memberships }: ProfileDraft,
  from: readonly ProfileDraft[],
  { table, message }: BatchMessage,
  document: EntityDocument,
): LimitIssue | undefined {
  const isMerge = from.length > 1;
  const { identities } = document;
  if ((isMerge || attributes.lacks(identities)) && attributes.hasMoreValues(identities, table.maxValues)) {
    return { code: "too_many_values", message: tooManyValues(table) };
  }
  const bytes = attributes.bytesWith(document, ENTITY_BYTES);
  if (bytes > ENTITY_BYTES && (isMerge || bytes > attributes.bytes)) return TOO_LARGE;
  // An outdated value changes no profile but is stored in the history, so it is limited too.
  if (attributes.outdatedBytes(document) > ENTITY_BYTES) return TOO_LARGE;
  const segments = segmentsNamedIn(message);
  const size = memberships.sizeWith(segments);
  if (size <= Math.max(0, ...from.map((profile) => profile.memberships.size))) return undefined;
  if (size > MAX_SEGMENTS) return TOO_MANY_SEGMENTS;
  if (size * MAX_SEGMENT_ID_BYTES <= SEGMENT_BYTES || memberships.idBytesWith(segments) <= SEGMENT_BYTES)
    return undefined;
  return SEGMENTS_TOO_LARGE;
}
