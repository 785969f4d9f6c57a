import type { EntityStore } from "../entities/ports.js";
import { noFailpoint } from "../failpoint.js";
import { type Deletion, PROFILE } from "./deletion.js";
import { decryptIdentities } from "./identity-list.js";
import { type DeletionSubject, type DownstreamTarget, TargetError } from "./ports.js";
import { ownStore } from "./targets/index.js";

/** Returns the live profile as the first target. */
export function profileTarget(entities: Pick<EntityStore, "erase" | "holds">): DownstreamTarget {
  return ownStore(PROFILE, entities, noFailpoint);
}

/** Returns the target with this name. One that is no longer configured always fails. */
export function targetNamed(name: string, configured: readonly DownstreamTarget[]): DownstreamTarget {
  return configured.find((target) => target.name === name) ?? missing(name);
}

function missing(name: string): DownstreamTarget {
  const fail = () => Promise.reject(new TargetError(name, "is no longer configured"));
  return { name, remote: false, erase: fail, verify: fail };
}

/** Erases a request's data from one target and verifies the result. Safe to repeat. Rejects with a `StageError`. */
export async function eraseFrom(target: DownstreamTarget, deletion: Deletion): Promise<void> {
  await inStage(target.name, async () => {
    const subject = subjectFor(target, deletion);
    await target.erase(subject);
    if (!(await target.verify(subject))) throw new TargetError(target.name, "is not clean");
  });
}

/**
 * Verifies that none of these targets holds the request's data: a target may receive data again while the others are
 * erased. Rejects with a `StageError` of the target that is not clean.
 */
export async function verifyAll(targets: readonly DownstreamTarget[], deletion: Deletion): Promise<void> {
  for (const target of targets) {
    await inStage(target.name, async () => {
      if (!(await target.verify(subjectFor(target, deletion)))) {
        throw new TargetError(target.name, "is no longer clean");
      }
    });
  }
}

function subjectFor({ remote }: DownstreamTarget, deletion: Deletion): DeletionSubject {
  const { requestId, table, acceptedAt: cutOff, hashes } = deletion;
  // A store may keep an identity without a profile under the id of the request.
  const entities = [...deletion.entities, requestId];
  const secrets = remote ? decryptIdentities(deletion) : { identities: [], left: {} };
  return { requestId, table, cutOff, entities, hashes, ...secrets };
}

/** Failure of a stage; `cause` is the original error. */
export class StageError extends Error {
  readonly stage: string;

  constructor(stage: string, cause: unknown) {
    super(`${stage} failed`, { cause });
    this.stage = stage;
  }
}

/** Runs `work` and wraps its error in a `StageError`. */
export async function inStage<T>(stage: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StageError(stage, error);
  }
}
