import type { Failpoint } from "../failpoint.js";
import type { Deletion } from "./deletion.js";
import { decryptIdentities } from "./identity-list.js";
import { type DownstreamTarget, type ErasureSubject, TargetError } from "./ports.js";

/** Erases a request from one target, and verifies that. Safe to repeat. Rejects with a `StageError`. */
export async function eraseFrom(target: DownstreamTarget, deletion: Deletion): Promise<void> {
  await inStage(target.name, async () => {
    const subject = subjectFor(target, deletion);
    await target.erase(subject);
    if (!(await target.verify(subject))) throw new TargetError(target.name, "is not clean");
  });
}

/**
 * Verifies that a request is erased from every target: data may have come back to one while the others were erased. Rejects with a
 * `StageError` of the target that is not clean.
 */
export async function verifyAll(
  targets: readonly DownstreamTarget[],
  deletion: Deletion,
  failpoint: Failpoint,
): Promise<void> {
  failpoint("all-targets-erased");
  for (const target of targets) {
    await inStage(target.name, async () => {
      if (!(await target.verify(subjectFor(target, deletion)))) {
        throw new TargetError(target.name, "is not clean any more");
      }
    });
  }
  failpoint("all-targets-verified");
}

function subjectFor({ remote }: DownstreamTarget, deletion: Deletion): ErasureSubject {
  const { requestId, table, cutOff, entities } = deletion;
  return { requestId, table, cutOff, entities, identities: remote ? decryptIdentities(deletion) : [] };
}

/** A stage failed, for this cause. */
export class StageError extends Error {
  readonly stage: string;

  constructor(stage: string, cause: unknown) {
    super(`${stage} failed`, { cause });
    this.stage = stage;
  }
}

/** Does work whose error becomes a `StageError`. */
export async function inStage<T>(stage: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StageError(stage, error);
  }
}
