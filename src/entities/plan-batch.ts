import { pacer } from "../async/yielding.js";
import type { BatchMessage } from "./batch-message.js";
import { Component } from "./component.js";
import type { EntityId } from "./entity.js";
import type { FoundProfiles } from "./find-profiles.js";
import type { IdentityHash } from "./identity.js";
import { LimitCheck, type LimitReason, type PlanLimits } from "./limit-check.js";
import { documentOf } from "./message.js";

/** What a batch comes to. */
export interface BatchPlan {
  /** In order, refused ones left out, each with the profile that it is for in the end. */
  readonly messages: readonly { readonly message: BatchMessage; readonly profile: Component }[];
  /** Profiles as they end up, with all that was merged into them. */
  readonly profiles: readonly Component[];
  readonly refused: readonly RefusedMessage[];
}

export interface RefusedMessage {
  readonly message: BatchMessage;
  readonly reason: LimitReason;
}

/**
 * Walks through the messages in order. One that names identities of several profiles merges them into the oldest. An
 * identity whose owner was not found alive goes to the profile that the message is for.
 */
export async function planBatch(
  batch: readonly BatchMessage[],
  { owners, profiles }: FoundProfiles,
  limits: PlanLimits,
  newId: () => EntityId,
): Promise<BatchPlan> {
  const pace = pacer();
  const check = new LimitCheck(limits);
  const components = new Map<EntityId, Component>();
  const holders = new Map<IdentityHash, Component>();
  const messages: { message: BatchMessage; at: Component }[] = [];
  const refused: RefusedMessage[] = [];

  function storedHolder(hash: IdentityHash): Component | undefined {
    const id = owners.get(hash);
    const profile = id === undefined ? undefined : profiles.get(id);
    if (profile === undefined) return undefined;
    const known = components.get(profile.entity.id);
    if (known !== undefined) return known.root;
    const component = Component.stored(profile);
    components.set(component.id, component);
    return component;
  }

  function holdersOf(hashes: readonly IdentityHash[]): Component[] {
    const named = new Set(hashes.flatMap((hash) => holders.get(hash)?.root ?? storedHolder(hash) ?? []));
    return [...named].sort(byAge);
  }

  function start({ table, stamp }: BatchMessage): Component {
    const component = Component.fresh(newId(), table.name, stamp.arrival, components.size);
    components.set(component.id, component);
    return component;
  }

  for (const message of batch) {
    await pace();
    const named = holdersOf(message.hashes);
    const document = documentOf(message.message, message.stamp);
    const reason = check.reached(named, message, document);
    if (reason !== undefined) {
      refused.push({ message, reason });
      continue;
    }
    const at = named[0] ?? start(message);
    for (const other of named.slice(1)) at.absorb(other);
    at.take(message, document);
    for (const hash of message.hashes) holders.set(hash, at);
    messages.push({ message, at });
  }
  return {
    messages: messages.map(({ message, at }) => ({ message, profile: at.root })),
    profiles: [...new Set(messages.map(({ at }) => at.root))],
    refused,
  };
}

function byAge(a: Component, b: Component): number {
  return a.born - b.born || a.order - b.order || (a.id < b.id ? -1 : 1);
}
