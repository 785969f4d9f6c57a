import { invalid } from "../errors.js";
import type { Json } from "./entity-document.js";
import type { SegmentStatement } from "./message.js";

/** What may be the id of a segment. */
export interface SegmentIdRule {
  allows(id: string): boolean;
  readonly inWords: string;
}

/** Most segments that one message may name. */
const MOST = 1_000;

/** What `segments` of a message says: a list is the full list; absent or null says nothing. */
export function parseSegments(json: Json | undefined, rule: SegmentIdRule): SegmentStatement | undefined {
  if (json === undefined || json === null) return undefined;
  if (Array.isArray(json)) return { add: idsOf(json, rule), remove: [], full: true };
  if (typeof json !== "object" || Object.keys(json).some((name) => name !== "add" && name !== "remove")) {
    throw refuse('A list of segment ids, or { "add": [], "remove": [] }, is expected');
  }
  const { add, remove } = json as { add?: Json; remove?: Json };
  const statement = { add: idsOf(add ?? [], rule), remove: idsOf(remove ?? [], rule), full: false };
  const removed = new Set(statement.remove);
  if (statement.add.some((id) => removed.has(id))) throw refuse("A segment is both added and removed");
  return statement;
}

function idsOf(json: Json, rule: SegmentIdRule): readonly string[] {
  if (!Array.isArray(json)) throw refuse("A list of segment ids is expected");
  if (json.length > MOST) throw refuse(`A message names at most ${MOST} segments`);
  for (const id of json as readonly Json[]) {
    if (typeof id !== "string" || !rule.allows(id)) throw refuse(`The id of a segment must be: ${rule.inWords}`);
  }
  return [...new Set(json as readonly string[])];
}

function refuse(message: string) {
  return invalid("invalid_segments", "segments", message);
}
