import { yieldWhenDue } from "../../async/yielding.js";
import type { CatalogueStore } from "../../catalogue/ports.js";
import type { Reservation } from "../../memory-budget.js";
import type { EntityKeys, EntityStore, History } from "../ports.js";
import { unseal } from "../profile/encryption.js";
import { idsOf, type StoredEntity, segmentsIn } from "../profile/entity.js";
import { decodeDocument, type Json } from "../profile/entity-document.js";
import type { Table } from "../profile/entity-tables.js";
import { type HashIdentity, type Identity, valuesByField } from "../profile/identity.js";
import { decodeMessage } from "../profile/message.js";
import { messagePages } from "../profile/message-pages.js";
import { liveOwner } from "./read-entity.js";
import { reserveDecoded, type UnsealDependencies, unsealProfile, yieldIfLarge } from "./unseal-profile.js";

export interface ExportDependencies extends UnsealDependencies {
  readonly entities: Pick<EntityStore, "find" | "load">;
  readonly history: Pick<History, "page">;
  readonly segments: Pick<CatalogueStore, "segmentsById">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly hashIdentity: HashIdentity;
}

/** A piece of an entity's data. Times are Unix ms. */
export type Exported = ExportedProfile | ExportedMessage | { readonly type: "end"; readonly messages: number };

export interface ExportedProfile {
  readonly type: "profile";
  readonly table: string;
  /** Values by field. */
  readonly identities: Readonly<Record<string, readonly string[]>>;
  readonly attributes: readonly { readonly name: string; readonly value: Json; readonly at: number }[];
  readonly segments: readonly { readonly id: string; readonly name: string; readonly since: number }[];
}

export interface ExportedMessage {
  readonly type: "message";
  readonly stream: string;
  readonly time: number;
  readonly arrival: number;
  /** The message as sent. */
  readonly body: unknown;
}

/**
 * Returns all data about the entity with this identity, in non-empty lists of pieces; undefined when there is none or
 * it is being erased. Ends without the last piece when the entity is erased or merged during the export: each list is
 * yielded right after a check that the entity is live and has the same merged ids. Rejects as `unsealProfile` does.
 */
export async function exportEntity(
  dependencies: ExportDependencies,
  table: Table,
  identity: Identity,
  memory: Reservation,
): Promise<AsyncGenerator<readonly Exported[], void, void> | undefined> {
  const entity = await liveOwner(dependencies.entities, dependencies.hashIdentity(table.name, identity));
  const profile = entity && (await profileLine(dependencies, entity, memory));
  return entity && profile && piecesOf(dependencies, entity, profile, memory);
}

/** Yields the profile, its messages by arrival, then a last piece with their number. */
async function* piecesOf(
  dependencies: ExportDependencies,
  entity: StoredEntity,
  profile: ExportedProfile,
  memory: Reservation,
): AsyncGenerator<readonly Exported[], void, void> {
  let messages = 0;
  if (!(await isStill(dependencies, entity))) return;
  yield [profile];
  for await (const page of messagePages(dependencies.history, idsOf(entity))) {
    memory.refuseIfOver();
    const keys = await dependencies.entityKeys.read([...new Set(page.map((message) => message.entity))]);
    const bytes = page.reduce((sum, { sealed }) => sum + sealed.length, 0);
    const release = await reserveDecoded(bytes, memory);
    const shown: ExportedMessage[] = [];
    for (const { stream, time, arrival, ...message } of page) {
      const plain = unseal(keys, message);
      // An erasure destroys the key last: the rest cannot be decrypted.
      if (plain === undefined) return;
      shown.push({ type: "message", stream, time, arrival, body: decodeMessage(plain) });
      await yieldWhenDue();
    }
    if (!(await isStill(dependencies, entity))) return;
    messages += page.length;
    yield shown;
    release();
  }
  if (await isStill(dependencies, entity)) yield [{ type: "end", messages }];
}

async function profileLine(
  dependencies: ExportDependencies,
  entity: StoredEntity,
  memory: Reservation,
): Promise<ExportedProfile | undefined> {
  const { table, memberships } = entity;
  const ids = segmentsIn(memberships);
  const [keys, named] = await Promise.all([
    dependencies.entityKeys.read([entity.id]),
    dependencies.segments.segmentsById(ids),
  ]);
  return unsealProfile(dependencies, keys, entity, memory, async (plain) => {
    const { attributes, identities } = decodeDocument(plain);
    await yieldIfLarge(plain);
    return {
      type: "profile",
      table,
      identities: Object.fromEntries(valuesByField(identities)),
      attributes: [...attributes].flatMap(([name, { version, value }]) =>
        value === undefined ? [] : [{ name, value, at: version.time }],
      ),
      segments: ids.map((segment) => ({
        id: segment,
        name: named.get(segment)?.name ?? segment,
        since: memberships.updates.get(segment)?.time ?? 0,
      })),
    };
  });
}

/** Returns whether the profile is live and has the same merged ids as before. */
async function isStill({ entities }: ExportDependencies, { id, mergedIds }: StoredEntity): Promise<boolean> {
  const now = (await entities.load([id])).profiles.get(id);
  return now !== undefined && now.mergedIds.length === mergedIds.length;
}
