import { decodeMessage } from "../collect/message.js";
import type { EntityKeys, EntityStore, History, HistoryMessage, SegmentNames } from "../ports.js";
import { openAll, openDocuments } from "../profile/encryption.js";
import { type EntityId, idsOf, type StoredEntity } from "../profile/entity.js";
import type { Json } from "../profile/entity-document.js";
import type { Table } from "../profile/entity-tables.js";
import { type HashIdentity, type Identity, valuesByField } from "../profile/identity.js";
import { segmentsIn } from "../profile/memberships.js";
import { liveHolder } from "./read-entity.js";

export interface ExportDependencies {
  readonly entities: Pick<EntityStore, "find" | "load">;
  readonly history: Pick<History, "page">;
  readonly segments: SegmentNames;
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
 * yielded right after a check that the entity is live and has the same merged ids.
 */
export type ExportEntity = (
  table: Table,
  identity: Identity,
) => Promise<AsyncGenerator<readonly Exported[], void, void> | undefined>;

/** Creates the export from these stores. */
export function exportEntity(dependencies: ExportDependencies): ExportEntity {
  return async (table, identity) => {
    const entity = await liveHolder(dependencies.entities, dependencies.hashIdentity(table.name, identity));
    const profile = entity && (await profileLine(dependencies, entity));
    return entity && profile && piecesOf(dependencies, entity, profile);
  };
}

/** Yields the profile, its messages by arrival, then a last piece with their number. */
async function* piecesOf(
  dependencies: ExportDependencies,
  entity: StoredEntity,
  profile: ExportedProfile,
): AsyncGenerator<readonly Exported[], void, void> {
  let messages = 0;
  if (!(await isStill(dependencies, entity))) return;
  yield [profile];
  for await (const page of messagePages(dependencies.history, idsOf(entity))) {
    const plain = await openAll(dependencies.entityKeys, page);
    if (!(await isStill(dependencies, entity))) return;
    // An erasure destroys the key last: the rest cannot be decrypted.
    if (plain.includes(undefined)) return;
    messages += page.length;
    yield page.map(({ stream, time, arrival }, index) => ({
      type: "message",
      stream,
      time,
      arrival,
      body: decodeMessage(plain[index] as Uint8Array),
    }));
  }
  if (await isStill(dependencies, entity)) yield [{ type: "end", messages }];
}

async function profileLine(
  { entityKeys, segments }: ExportDependencies,
  entity: StoredEntity,
): Promise<ExportedProfile | undefined> {
  const { table, memberships } = entity;
  const ids = segmentsIn(memberships);
  const [[document], names] = await Promise.all([openDocuments(entityKeys, [entity]), segments.names(ids)]);
  if (document === undefined) return undefined;
  const { attributes, identities } = document;
  return {
    type: "profile",
    table,
    identities: Object.fromEntries(valuesByField(identities)),
    attributes: [...attributes].flatMap(([name, { version, value }]) =>
      value === undefined ? [] : [{ name, value, at: version.time }],
    ),
    segments: ids.map((segment) => ({
      id: segment,
      name: names.get(segment) ?? segment,
      since: memberships.statements.get(segment)?.time ?? 0,
    })),
  };
}

/** Returns whether the profile is live and has the same merged ids as before. */
async function isStill({ entities }: ExportDependencies, { id, mergedIds }: StoredEntity): Promise<boolean> {
  const now = (await entities.load([id])).get(id);
  return now !== undefined && now.mergedIds.length === mergedIds.length;
}

/**
 * Maximum messages of a page and approximate encrypted bytes: a message may take 1 MiB. Two pages are in memory at
 * once.
 */
const MAX_PAGE = 200;
const PAGE_BYTES = 1_048_576;
/** Messages read first; the number grows while they are small. */
const FIRST_PAGE = 10;

/**
 * Yields pages of the messages of several ids in order of arrival; the store returns each id's messages in that order.
 */
export async function* messagePages(
  history: Pick<History, "page">,
  ids: readonly EntityId[],
): AsyncGenerator<HistoryMessage[]> {
  const share = { messages: Math.max(1, Math.ceil(MAX_PAGE / ids.length)), bytes: PAGE_BYTES / ids.length };
  const sources = await Promise.all(ids.map((id) => openSource(history, id, share)));
  let page: HistoryMessage[] = [];
  let bytes = 0;
  for (;;) {
    let first: Source | undefined;
    for (const source of sources) if (isBefore(source.head, first?.head)) first = source;
    const message = first?.head;
    if (first === undefined || message === undefined) break;
    page.push(message);
    bytes += message.sealed.length;
    await first.advance();
    if (page.length === MAX_PAGE || bytes >= PAGE_BYTES) {
      yield page;
      page = [];
      bytes = 0;
    }
  }
  if (page.length > 0) yield page;
}

interface Source {
  /** The next message; undefined at the end. */
  readonly head: HistoryMessage | undefined;
  advance(): Promise<void>;
}

/** Reads the messages of one id. The page size adapts to its share of bytes. */
async function openSource(
  history: Pick<History, "page">,
  id: EntityId,
  share: { readonly messages: number; readonly bytes: number },
): Promise<Source> {
  let limit = Math.min(FIRST_PAGE, share.messages);
  let messages = await history.page(id, undefined, limit);
  let next = 0;
  return {
    get head() {
      return messages[next];
    },
    async advance() {
      const last = messages[next];
      next += 1;
      if (next < messages.length) return;
      const isLast = messages.length < limit;
      const bytes = messages.reduce((sum, { sealed }) => sum + sealed.length, 0);
      limit = bytes * 2 <= share.bytes ? Math.min(limit * 2, share.messages) : Math.max(1, Math.floor(limit / 2));
      messages = isLast ? [] : await history.page(id, last, limit);
      next = 0;
    },
  };
}

function isBefore(a: HistoryMessage | undefined, b: HistoryMessage | undefined): boolean {
  if (a === undefined || b === undefined) return a !== undefined;
  return a.arrival !== b.arrival ? a.arrival < b.arrival : a.position < b.position;
}
