import type { YieldBudget } from "../../async/yielding.js";
import { type Reservation, UNCOUNTED_BYTES } from "../../memory-budget.js";
import { open } from "../profile/encryption.js";
import { type EntityId, type StoredEntity, storedBytes } from "../profile/entity.js";
import { DECODED_BYTES } from "../profile/entity-document.js";

export interface OpeningDependencies {
  /** Gives requests turns, one after another, to work on large decoded values. */
  readonly turns: Pick<YieldBudget, "next" | "pauses">;
  /** Called for each profile that cannot be decrypted. */
  damaged(id: EntityId, error: unknown): void;
}

/** The error of a profile whose stored bytes were altered. */
export class DamagedProfile extends Error {
  override readonly name = "DamagedProfile";
}

/** Ms of work before other requests run. */
export const PAUSE_MS = 10;

/** A turn of work on large values. */
export interface Turn {
  /** Awaited between two steps, so that other requests run. */
  pause(): Promise<void> | undefined;
  /** Releases the memory. */
  release(): void;
}

/**
 * Begins work on values that have `bytes` in stored form. Large values wait until other requests have ended this work,
 * so the decoded large values of only one request are in memory. Rejects when the request has ended or memory is short.
 */
export async function openTurn(
  { turns }: Pick<OpeningDependencies, "turns">,
  bytes: number,
  memory: Reservation,
): Promise<Turn> {
  if (bytes <= UNCOUNTED_BYTES) return { pause: () => undefined, release: () => {} };
  const releaseStored = memory.reserveUnlessSmall(bytes);
  await turns.next();
  const releaseDecoded = memory.reserveUnlessSmall(DECODED_BYTES * bytes);
  return {
    pause: turns.pauses(PAUSE_MS),
    release() {
      releaseStored();
      releaseDecoded();
    },
  };
}

/**
 * Decrypts a profile in a turn and returns the result of `decode` for its document; undefined when its key is gone.
 * `decode` awaits `pause` between two steps. Rejects as `openTurn` does, and with `DamagedProfile` when the bytes were
 * altered.
 */
export async function openProfile<T>(
  dependencies: OpeningDependencies,
  keys: ReadonlyMap<EntityId, Uint8Array>,
  profile: StoredEntity,
  memory: Reservation,
  decode: (plain: Uint8Array, pause: Turn["pause"]) => T | Promise<T>,
): Promise<T | undefined> {
  const { id, sealed } = profile;
  const { pause, release } = await openTurn(dependencies, storedBytes(profile), memory);
  try {
    const plain = open(keys, { entity: id, sealed });
    await pause();
    return plain && (await decode(plain, pause));
  } catch (error) {
    dependencies.damaged(id, error);
    throw new DamagedProfile("A profile is damaged", { cause: error });
  } finally {
    release();
  }
}

/** Handles the rejection of a damaged profile; rethrows others. */
export function undefinedIfDamaged(error: unknown): undefined {
  if (!(error instanceof DamagedProfile)) throw error;
}
