import { yieldWhenDue } from "../async/yielding.js";
import { eventId, type HookEvent } from "../deletions/targets/hook.js";
import { type Hook, isMember, type Outbox, type OutboxRow, SEGMENT } from "../entities/outbox.js";
import type { EntityKeys, EntityStore } from "../entities/ports.js";
import { type EntityId, idsOf, type StoredEntity, storedBytes } from "../entities/profile/entity.js";
import { decodeDocument } from "../entities/profile/entity-document.js";
import type { Tables } from "../entities/profile/entity-tables.js";
import { valuesByField } from "../entities/profile/identity.js";
import { wantedOf } from "../entities/read/list-members.js";
import { type UnsealDependencies, undefinedIfDamaged, unsealProfile } from "../entities/read/unseal-profile.js";
import { timeText } from "../formats/instant.js";
import type { MemoryBudget, Reservation } from "../memory-budget.js";

export interface OpenEventDependencies extends UnsealDependencies {
  readonly outbox: Pick<Outbox, "remove">;
  readonly entities: Pick<EntityStore, "load">;
  readonly entityKeys: Pick<EntityKeys, "read">;
  readonly tables: Tables;
  readonly memory: MemoryBudget;
}

/** A change with its event. */
export interface OpenedEvent {
  readonly row: OutboxRow;
  readonly event: HookEvent;
}

/**
 * Returns the events of changes, as many as one load of profiles permits. Omits people with one of the `busy` ids: they
 * are in a request. Removes changes whose profile was merged or erased, or is damaged: the commit of the merge, or the
 * deletion, has replaced them.
 */
export async function openEvents(
  dependencies: OpenEventDependencies,
  { name, fields }: Hook,
  rows: readonly OutboxRow[],
  busy: ReadonlySet<EntityId>,
): Promise<OpenedEvent[]> {
  const { outbox, entities, entityKeys, memory, tables } = dependencies;
  const ids = new Set(rows.flatMap(({ entity }) => (entity === SEGMENT ? [] : entity)));
  const { profiles, left } = await entities.load([...ids].sort());
  const later = new Set(left);
  const keys = await entityKeys.read([...profiles.keys()]);
  const wanted = fields && new Set(fields);

  async function opened(profile: StoredEntity, reservation: Reservation) {
    const work = (plain: Uint8Array) => {
      const document = decodeDocument(plain);
      const attributes = wanted && Object.fromEntries(wantedOf(tables.get(profile.table), document, wanted));
      const identities = Object.fromEntries(valuesByField(document.identities));
      return { table: profile.table, identities, ...(attributes === undefined ? {} : { attributes }) };
    };
    return unsealProfile(dependencies, keys, profile, reservation, work).catch(undefinedIfDamaged);
  }

  return memory.within(async (reservation) => {
    reservation.reserveUnlessSmall([...profiles.values()].reduce((sum, profile) => sum + storedBytes(profile), 0));
    const people = new Map<EntityId, Awaited<ReturnType<typeof opened>> | "waits" | object>([[SEGMENT, {}]]);
    for (const profile of profiles.values()) {
      await yieldWhenDue();
      const waits = idsOf(profile).some((id) => busy.has(id));
      people.set(profile.id, waits ? "waits" : await opened(profile, reservation));
    }
    const gone = new Set(
      rows.filter(
        (row) =>
          (people.get(row.entity) === undefined && !later.has(row.entity)) || isVoid(row, profiles.get(row.entity)),
      ),
    );
    if (gone.size > 0) await outbox.remove(Array.from(gone, ({ id }) => id));
    return rows.flatMap((row) => {
      const person = people.get(row.entity);
      return person === undefined || person === "waits" || gone.has(row)
        ? []
        : { row, event: { ...eventOf(row, name), ...person } };
    });
  });
}

/** Returns whether a `joined` is about a membership that ended with its segment: a commit that ends one replaces it. */
function isVoid({ change, state, segment }: OutboxRow, profile: StoredEntity | undefined): boolean {
  return change === "joined" && state === "waiting" && profile !== undefined && !isMember(profile, segment);
}

/** Returns the event of a change without the person. */
function eventOf({ id, segment, change, at }: OutboxRow, hook: string): HookEvent {
  return { id: eventId(hook, id, at), segment, change, at: timeText(at) };
}
