import type { EntityStore } from "../entities/ports.js";
import type { Failpoint } from "../failpoint.js";
import { type Deletion, dataIdsOf, PROFILE } from "./deletion.js";
import type { SealedIdentities } from "./erasure-scope.js";
import { type DownstreamTarget, TargetError } from "./ports.js";

export interface ErasingParts {
  readonly entities: Pick<EntityStore, "erase" | "holds">;
  readonly targets: readonly DownstreamTarget[];
  readonly identities: Pick<SealedIdentities, "open">;
  readonly failpoint: Failpoint;
}

/** What a caller decides and notes while a deletion is erased place by place. */
export interface ErasureSteps {
  /** Before a place is erased. False: the erasure ends before it. */
  begin(place: DownstreamTarget): Promise<boolean>;
  /** The place has erased, and was verified. */
  clean(place: DownstreamTarget): Promise<void>;
  /** The place was verified once more, after all of them. */
  verified(place: DownstreamTarget): void;
}

/**
 * Erases what a deletion names in these places and makes sure of it: erases and verifies one place after the other, without the stages that are
 * done, then verifies all of them once more, which finds what came back to one while the others were erased. Safe to repeat. Resolves with the
 * place before which `steps` ended it. Rejects with a `StageError` when a place fails, or is not clean.
 */
export async function eraseEverywhere(
  { identities, failpoint }: ErasingParts,
  deletion: Deletion,
  places: readonly DownstreamTarget[],
  steps?: ErasureSteps,
): Promise<DownstreamTarget | undefined> {
  const { requestId, table, cutOff, done } = deletion;
  const subjectFor = async ({ name, remote }: DownstreamTarget) => {
    const written = remote ? await identities.open(deletion) : [];
    // An identity that led to no profile may be held under the sealer's id; elsewhere nothing is known under it.
    const entities = name === PROFILE ? deletion.entities : dataIdsOf(deletion);
    return { requestId, table, cutOff, entities, identities: written };
  };
  for (const place of places.filter(({ name }) => !done.includes(name))) {
    if (steps !== undefined && !(await steps.begin(place))) return place;
    await inStage(place.name, async () => {
      const subject = await subjectFor(place);
      await place.erase(subject);
      if (!(await place.verify(subject))) throw new TargetError(place.name, "is not clean");
    });
    await steps?.clean(place);
  }
  failpoint("all-targets-erased");
  for (const place of places) {
    await inStage(place.name, async () => {
      if (!(await place.verify(await subjectFor(place)))) throw new TargetError(place.name, "is not clean any more");
    });
    steps?.verified(place);
  }
  return undefined;
}

/** A stage failed, for this cause. */
export class StageError extends Error {
  readonly stage: string;

  constructor(stage: string, cause: unknown) {
    super(`${stage} failed`, { cause });
    this.stage = stage;
  }
}

/** Work whose error is a `StageError`. */
export async function inStage<T>(stage: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StageError(stage, error);
  }
}

/** The live profile, then the targets of these names. One that is not configured any more always fails. */
export function placesOf({ entities, targets }: ErasingParts, names: readonly string[]): DownstreamTarget[] {
  const profile: DownstreamTarget = {
    name: PROFILE,
    remote: false,
    erase: (subject) => entities.erase(subject.entities),
    verify: async (subject) => !(await entities.holds(subject.entities)),
  };
  return [profile, ...names.map((name) => targets.find((target) => target.name === name) ?? missing(name))];
}

function missing(name: string): DownstreamTarget {
  const fail = () => Promise.reject(new TargetError(name, "is not configured any more"));
  return { name, remote: false, erase: fail, verify: fail };
}
