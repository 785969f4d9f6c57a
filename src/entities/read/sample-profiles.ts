import { KeyedMutex } from "../../async/keyed-mutex.js";
import { eachPage } from "../../async/pages.js";
import { yieldWhenDue } from "../../async/yielding.js";
import { ServiceError } from "../../errors.js";
import type { Reservation } from "../../memory-budget.js";
import type { EntityKeys, EntityStore } from "../ports.js";
import { type EntityId, storedBytes } from "../profile/entity.js";
import { type DecodedProfile, decodeProfile } from "../profile/profile-draft.js";
import { type UnsealDependencies, undefinedIfDamaged, unsealProfile } from "./unseal-profile.js";

export interface SampleDependencies extends UnsealDependencies {
  readonly entities: Pick<EntityStore, "idsAfter" | "load">;
  readonly entityKeys: Pick<EntityKeys, "read">;
}

/** Number of profiles of a table, and of the decrypted ones of its sample. */
export interface Sampled {
  readonly of: number;
  readonly sampled: number;
}

/**
 * Calls `look` with 2,000 profiles of a table, chosen at random, or with all if there are not more; skips profiles that
 * cannot be decrypted. One call runs at a time; throws `too-many-requests` when more than a few wait.
 */
export type SampleProfiles = (
  table: string,
  memory: Reservation,
  look: (profile: DecodedProfile) => Promise<void> | void,
) => Promise<Sampled>;

export const SAMPLE = 2_000;
/** Memory of the ids, bytes. */
const ID_BYTES = 200_000;
/** Profiles that are loaded at once. */
const PIECE = 100;
/** Copies of a piece in memory: as stored, and decrypted. */
const COPIES = 2;
/** Calls that wait. */
const MAX_WAITING = 4;

export function profileSampler(dependencies: SampleDependencies): SampleProfiles {
  const mutex = new KeyedMutex();
  let calls = 0;
  return async (table, memory, look) => {
    if (calls > MAX_WAITING) {
      throw new ServiceError("too-many-requests", "Too many samples of profiles are requested", { retryAfter: 1 });
    }
    calls += 1;
    try {
      return await mutex.run(["sample"], () => sampleProfiles(dependencies, table, memory, look));
    } finally {
      calls -= 1;
    }
  };
}

async function sampleProfiles(
  dependencies: SampleDependencies,
  table: string,
  memory: Reservation,
  look: (profile: DecodedProfile) => Promise<void> | void,
): Promise<Sampled> {
  const { entities, entityKeys } = dependencies;
  memory.reserve(ID_BYTES);
  const { ids, of } = await randomIds(entities, table, memory);
  let sampled = 0;
  for (let waiting = ids; waiting.length > 0; ) {
    const { profiles, left } = await entities.load(waiting.slice(0, PIECE));
    waiting = [...left, ...waiting.slice(PIECE)];
    const bytes = [...profiles.values()].reduce((sum, profile) => sum + COPIES * storedBytes(profile), 0);
    const release = memory.reserveUnlessSmall(bytes);
    const keys = await entityKeys.read([...profiles.keys()]);
    for (const entity of profiles.values()) {
      await yieldWhenDue();
      memory.refuseIfOver();
      const decode = (plain: Uint8Array) => decodeProfile(entity, plain);
      const profile = await unsealProfile(dependencies, keys, entity, memory, decode).catch(undefinedIfDamaged);
      if (profile === undefined) continue;
      await look(profile);
      sampled += 1;
    }
    release();
    memory.progressed();
  }
  return { of, sampled };
}

/**
 * Returns ids of the table, each with the same chance, and the number of all. It reads all ids: neighbours were often
 * made at the same time (see `clusteredIds`), so a part of the order would be no random sample.
 */
async function randomIds(
  entities: SampleDependencies["entities"],
  table: string,
  memory: Reservation,
): Promise<{ ids: EntityId[]; of: number }> {
  const ids: EntityId[] = [];
  let of = 0;
  for await (const page of eachPage<EntityId>((after, limit) => entities.idsAfter(after, limit, table))) {
    for (const id of page) {
      of += 1;
      const place = of <= SAMPLE ? of - 1 : Math.floor(Math.random() * of);
      if (place < SAMPLE) ids[place] = id;
    }
    memory.refuseIfOver();
    memory.progressed();
  }
  return { ids: ids.sort(), of };
}
