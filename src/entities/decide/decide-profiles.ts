import { yieldWhenDue } from "../../async/yielding.js";
import type { Clock } from "../../clock.js";
import { isOfData, type ToServiceError } from "../../errors.js";
import type { MemoryBudget } from "../../memory-budget.js";
import type { CurrentRules } from "../../segments/current-rules.js";
import type { CountDecisions } from "../collect/apply-batch.js";
import type { EntityKeys, EntityStore, ProfileChange } from "../ports.js";
import { type FactDependencies, withFacts } from "../profile/complete-facts.js";
import { seal, unseal } from "../profile/encryption.js";
import { type EntityId, storedBytes } from "../profile/entity.js";
import { DECODED_BYTES, encodeDocument } from "../profile/entity-document.js";
import { decodeProfile, ProfileDraft } from "../profile/profile-draft.js";
import { retryOnConflict } from "../requests/retry-on-conflict.js";

export interface DecideDependencies extends FactDependencies {
  readonly entities: Pick<EntityStore, "find" | "load" | "commit">;
  readonly entityKeys: EntityKeys;
  readonly rules: CurrentRules;
  readonly clock: Clock;
  readonly memory: MemoryBudget;
  readonly countDecisions: CountDecisions;
  readonly toServiceError: ToServiceError;
  /** Called for each profile that is skipped because a part of it is damaged. */
  damaged(id: EntityId, error: unknown): void;
}

/**
 * Decides the segments by rule about stored profiles, and stores the decisions that have changed. A profile that is
 * changed concurrently was decided by its message, with the newest rules; it is decided again. Safe to repeat.
 */
export async function decideProfiles(
  dependencies: DecideDependencies,
  ids: readonly EntityId[],
  cause: "time" | "walk",
): Promise<void> {
  const [first, second] = ids;
  if (first === undefined) return;
  const attempt = () => decidePage(dependencies, ids, cause);
  let left: readonly EntityId[] | undefined;
  try {
    left = second === undefined ? await retryOnConflict(attempt) : await attempt();
  } catch (error) {
    if (!isOfData(error, dependencies.toServiceError)) throw error;
    if (second === undefined) return dependencies.damaged(first, error);
  }
  if (left !== undefined) return decideProfiles(dependencies, left, cause);
  // A conflict or damage of one profile repeats the others, so each half is decided alone.
  const half = Math.ceil(ids.length / 2);
  await decideProfiles(dependencies, ids.slice(0, half), cause);
  await decideProfiles(dependencies, ids.slice(half), cause);
}

/** Bytes of the profiles that are read in one step, and updates of segments that a commit changes in one step. */
const STEP_BYTES = 262_144;
const STEP_UPDATES = 1_000;

/**
 * Decides the first profiles, as many as one step may, and returns the ids of the others; undefined: a conflict.
 * Rejects if one is damaged.
 */
async function decidePage(
  { entities, entityKeys, history, rules: rulesOf, clock, memory, countDecisions }: DecideDependencies,
  ids: readonly EntityId[],
  cause: "time" | "walk",
): Promise<readonly EntityId[] | undefined> {
  return memory.within(async (reservation) => {
    const { newest: generation } = (await entities.find([], 0, [])).deletions;
    const rules = await rulesOf(generation);
    if (rules.generation !== generation) return undefined;
    const { profiles, left } = await entities.load(ids, STEP_BYTES);
    const bytes = [...profiles.values()].reduce((sum, profile) => sum + storedBytes(profile), 0);
    reservation.reserveUnlessSmall(DECODED_BYTES * bytes);
    const keys = await entityKeys.read([...profiles.keys()]);
    const now = clock();
    const changes: ProfileChange[] = [];
    let decisions = 0;
    let last = "";
    for (const entity of profiles.values()) {
      await yieldWhenDue();
      const plain = unseal(keys, { entity: entity.id, sealed: entity.sealed });
      if (plain === undefined) {
        if ((await entityKeys.destroyed([entity.id])).has(entity.id)) continue;
        throw new Error("The profile has no key");
      }
      const profile = decodeProfile(entity, plain);
      const complete = await withFacts({ history, entityKeys }, profile, rules);
      const draft = ProfileDraft.stored(complete, rules);
      const changed = draft.decide(now);
      if (changed === 0 && complete === profile && draft.due === entity.due) continue;
      decisions += changed;
      last = entity.id;
      changes.push(draft.change(complete === profile ? entity.sealed : sealed(draft, keys)));
      if (decisions >= STEP_UPDATES) break;
    }
    const nothing = { messages: [], lastingIds: [], uncounted: new Set<string>(), keys: new Map(), segments: [] };
    const commit = { ...nothing, profiles: changes, owners: new Map(), cutOffs: new Map(), generation, at: now };
    if (changes.length > 0 && !(await entities.commit(commit))) return undefined;
    countDecisions(decisions, cause);
    return decisions >= STEP_UPDATES ? ids.filter((id) => id > last) : left;
  });
}

function sealed({ id, attributes }: ProfileDraft, keys: ReadonlyMap<EntityId, Uint8Array>): Uint8Array {
  return seal(keys, [{ entity: id, plain: encodeDocument(attributes.document()) }])[0] as Uint8Array;
}
