import { yieldWhenDue } from "../../async/yielding.js";
import { ServiceError } from "../../errors.js";
import type { MemoryBudget, Reservation } from "../../memory-budget.js";
import type { CurrentRules } from "../../segments/current-rules.js";
import type { Commit, EntityKeys, EntityStore, History, MembershipIndex, Suppression } from "../ports.js";
import { withFacts } from "../profile/complete-facts.js";
import { newKeys, seal, unseal } from "../profile/encryption.js";
import { type EntityId, idsOf, isBeforeDeletion, type StoredEntity, storedBytes } from "../profile/entity.js";
import { DECODED_BYTES, encodeDocument } from "../profile/entity-document.js";
import type { IdentityHash } from "../profile/identity.js";
import { type BatchMessage, encodeMessage, segmentsNamedIn } from "../profile/message.js";
import { type DecodedProfile, decodeProfile } from "../profile/profile-draft.js";
import { retryOnConflict } from "../requests/retry-on-conflict.js";
import { type BatchPlan, type FoundProfiles, type Outcomes, type PlanDependencies, planBatch } from "./plan-batch.js";

export interface BatchDependencies extends PlanDependencies {
  readonly entities: EntityStore;
  readonly history: History;
  readonly suppression: Suppression;
  readonly memberships: MembershipIndex;
  readonly entityKeys: EntityKeys;
  readonly memory: MemoryBudget;
  /** Counts messages that a commit has stored. */
  countTaken(messages: number): void;
  /** Counts `by` identities of this field that a commit has left out. */
  countLeftOut(by: number, field: string): void;
  readonly rules: CurrentRules;
  readonly countDecisions: CountDecisions;
}

/**
 * Maximum bytes of the encrypted profiles of one batch (see `EntityStore.load`). Decrypted profiles take ten times
 * as much, so four concurrent batches stay within 160 MiB.
 */
const PROFILE_BYTES = 4 * 1_048_576;

/**
 * Maximum bytes of the encrypted profiles that one message merges: they are decrypted together to check the limits of
 * one profile.
 */
const MERGE_BYTES = 8 * 1_048_576;

const MERGE_TOO_LARGE = {
  code: "merge_too_large",
  message: `The entities that one message merges have at most ${MERGE_BYTES} bytes`,
};

/**
 * Maximum updates of segments that a commit of several messages changes. A full list or a merge may change many
 * more than it names.
 */
export const MAX_UPDATES = 5_000;

/**
 * Applies messages to the history, the profiles and the counts in one commit. A batch takes several commits when its
 * profiles are too large to decrypt together or it changes too many updates of segments, so an earlier one may be
 * stored when this rejects. Skips suppressed messages and messages that are already stored. Resolves with the
 * messages that are not stored as sent. Rejects with `unavailable` when other writers keep changing the same profiles.
 */
export function applyBatch(dependencies: BatchDependencies, batch: readonly BatchMessage[]): Promise<Outcomes> {
  const work = async (part: readonly BatchMessage[], maxBytes: number) => {
    let left: readonly BatchMessage[] = part;
    const attempt = async (memory: Reservation) => {
      left = await withoutStored(dependencies, left);
      const found = await findProfiles(dependencies, part, maxBytes, memory);
      if (found === "too-large") return found;
      if (found.unreadable.length > 0) {
        await eraseUnreadable(dependencies, found.unreadable);
        return undefined;
      }
      // A rule has changed since the profiles were read.
      if (found.rules.generation !== found.deletions.newest) return undefined;
      const plan = await planBatch(left, found, dependencies);
      if (plan.messages.length === 0) return plan.outcomes;
      const updates = sumOf(plan.profiles.map(({ memberships }) => memberships.changed.size));
      if (part.length > 1 && updates > MAX_UPDATES) return "too-large";
      if (await dependencies.entities.commit(await commitOf(plan, found))) {
        dependencies.countTaken(plan.messages.filter(({ message }) => message.message.isUncounted !== true).length);
        for (const { leftOut = [] } of plan.outcomes.values()) {
          for (const field of leftOut) dependencies.countLeftOut(1, field);
        }
        dependencies.countDecisions(plan.decisions, "message");
        return plan.outcomes;
      }
      left = left.map((message) => afterConflict(message, found));
      return undefined;
    };
    return retryOnConflict(() => dependencies.memory.within(attempt));
  };
  return inHalves(batch, work);
}

/**
 * Returns the messages that `applyBatch` would not store as sent now. Stores and changes nothing, so it ignores the
 * effect of earlier batches of the same request.
 */
export function checkBatch(dependencies: BatchDependencies, batch: readonly BatchMessage[]): Promise<Outcomes> {
  const work = (part: readonly BatchMessage[], maxBytes: number) =>
    dependencies.memory.within(async (memory) => {
      const found = await findProfiles(dependencies, part, maxBytes, memory);
      if (found === "too-large") return found;
      return (await planBatch(part, found, dependencies)).outcomes;
    });
  return inHalves(batch, work);
}

/** Runs the work for a batch or, when that is too large, for its halves in turn. Other requests run in between. */
async function inHalves(
  batch: readonly BatchMessage[],
  work: (part: readonly BatchMessage[], maxBytes: number) => Promise<Outcomes | "too-large">,
): Promise<Outcomes> {
  const [message] = batch;
  if (message === undefined) return new Map();
  await yieldWhenDue();
  const isOne = batch.length === 1;
  const outcomes = await work(batch, isOne ? MERGE_BYTES : PROFILE_BYTES);
  if (outcomes !== "too-large") return outcomes;
  if (isOne) return new Map([[message.message, { issue: MERGE_TOO_LARGE }]]);
  const half = Math.ceil(batch.length / 2);
  const first = await inHalves(batch.slice(0, half), work);
  return new Map([...first, ...(await inHalves(batch.slice(half), work))]);
}

/** Returns the messages that the history does not contain. */
async function withoutStored(
  { history }: BatchDependencies,
  messages: readonly BatchMessage[],
): Promise<readonly BatchMessage[]> {
  const possiblyStored = messages.filter(({ possiblyStoredSince }) => possiblyStoredSince !== undefined);
  if (possiblyStored.length === 0) return messages;
  const storedIds = await history.storedIds(possiblyStored.map(({ id }) => id));
  return messages.filter(({ id }) => !storedIds.has(id));
}

/**
 * Returns the message marked as failed: a concurrent run may have stored it, so a deletion of its first identity that
 * was accepted since the plan covers it as if it had been stored before.
 */
function afterConflict(message: BatchMessage, { cutOffs }: FoundProfiles): BatchMessage {
  if (message.possiblyStoredSince !== undefined) return message;
  const [first] = message.hashes;
  return { ...message, possiblyStoredSince: cutOffs.get(first as IdentityHash)?.position ?? "" };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

async function commitOf(plan: BatchPlan, found: ReadableProfiles): Promise<Commit> {
  const added = newKeys(plan.profiles.filter(({ revision }) => revision === 0).map(({ id }) => id));
  const keys = new Map([...found.keys, ...added]);
  const plain: { entity: EntityId; plain: Uint8Array }[] = [];
  for (const { id, attributes } of plan.profiles) {
    plain.push({ entity: id, plain: encodeDocument(attributes.document()) });
    await yieldWhenDue();
  }
  const documents = seal(keys, plain);
  const messages = seal(
    keys,
    plan.messages.map(({ message, profile }) => ({ entity: profile.id, plain: encodeMessage(message.message) })),
  );
  const hashes = plan.messages.flatMap(({ message }) => message.hashes);
  const owners = new Map(hashes.map((hash) => [hash, found.owners.get(hash)]));
  return {
    profiles: plan.profiles.map((profile, index) => profile.change(documents[index] as Uint8Array)),
    messages: plan.messages.map(({ message: { id, table, stream, version }, profile }, index) => {
      return { id, table: table.name, stream, entity: profile.id, ...version, sealed: messages[index] as Uint8Array };
    }),
    lastingIds: plan.messages.flatMap(({ message }) => message.message.lastingId ?? []),
    uncounted: new Set(plan.messages.flatMap(({ message }) => (message.message.isUncounted ? message.id : []))),
    keys: added,
    owners,
    cutOffs: new Map([...found.cutOffs].filter(([hash]) => owners.has(hash))),
    generation: found.deletions.newest,
    at: plan.messages.reduce((last, { message }) => Math.max(last, message.version.arrival), 0),
    segments: segmentsOf(plan, found),
  };
}

/** Returns every segment that a message adds by an event after its deletion, without duplicates. */
function segmentsOf({ messages }: BatchPlan, { deletions }: FoundProfiles): Commit["segments"] {
  const segments = new Map<string, string>();
  for (const { message } of messages) {
    for (const id of message.message.segments?.add ?? []) {
      if (segments.has(id) || isBeforeDeletion(message.version, deletions.bySegment.get(id))) continue;
      segments.set(id, message.table.name);
    }
  }
  return Array.from(segments, ([id, table]) => ({ id, table }));
}

/** Counts decisions of rules that have changed by their cause, for `/metrics`. */
export type CountDecisions = (by: number, cause: "message" | "time" | "walk") => void;

/** Profiles with their keys. */
interface ReadableProfiles extends FoundProfiles {
  readonly keys: ReadonlyMap<EntityId, Uint8Array>;
}

/**
 * Returns the stored state to plan the messages from; "too-large" when the profiles exceed `maxBytes`. Rejects with
 * `unavailable` when memory is short.
 */
async function findProfiles(
  { entities, suppression, entityKeys, history, rules: rulesOf }: BatchDependencies,
  batch: readonly BatchMessage[],
  maxBytes: number,
  memory: Reservation,
): Promise<ReadableProfiles | "too-large"> {
  const hashes: readonly IdentityHash[] = [...new Set(batch.flatMap((message) => message.hashes))];
  const segments = [...new Set(batch.flatMap(({ message }) => segmentsNamedIn(message)))];
  const [found, cutOffs] = await Promise.all([entities.find(hashes, maxBytes, segments), suppression.cutOffs(hashes)]);
  if (found.left.length > 0) return "too-large";
  memory.reserveUnlessSmall(DECODED_BYTES * sumOf([...found.profiles.values()].map(storedBytes)));
  const [keys, rules] = await Promise.all([
    entityKeys.read([...found.profiles.keys()]),
    rulesOf(found.deletions.newest),
  ]);
  const profiles = new Map<EntityId, DecodedProfile>();
  const unreadable: StoredEntity[] = [];
  for (const [id, entity] of found.profiles) {
    const bytes = unseal(keys, { entity: id, sealed: entity.sealed });
    if (bytes === undefined) unreadable.push(entity);
    else profiles.set(id, await withFacts({ history, entityKeys }, decodeProfile(entity, bytes), rules));
    await yieldWhenDue();
  }
  const owners = new Map(hashes.map((hash) => [hash, found.owners.get(hash)]));
  return { owners, profiles, unreadable, cutOffs, keys, deletions: found.deletions, rules };
}

/**
 * Erases live profiles whose keys are destroyed: a deletion covered them, and its record may have expired. Rejects, and
 * erases nothing, when the ledger has no record of a key: it may be the wrong ledger. Safe to repeat.
 */
async function eraseUnreadable(
  { entities, memberships, history, entityKeys }: BatchDependencies,
  profiles: readonly StoredEntity[],
): Promise<void> {
  const destroyed = await entityKeys.destroyed(profiles.map(({ id }) => id));
  if (profiles.some(({ id }) => !destroyed.has(id))) {
    throw new ServiceError("unavailable", "The deletion ledger has no key of a profile");
  }
  const ids = profiles.flatMap(idsOf);
  await memberships.erase(ids);
  await history.erase(ids);
  await entityKeys.destroy(ids);
  // Last, so that until then the next message for a profile finds it again.
  await entities.erase(ids);
}
