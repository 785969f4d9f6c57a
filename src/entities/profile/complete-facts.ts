import type { Rules } from "../../segments/current-rules.js";
import { factsOfMessage, noFacts, type StreamFacts, unitedFacts } from "../../segments/stream-facts.js";
import type { EntityKeys, History, HistoryMessage } from "../ports.js";
import { unseal } from "./encryption.js";
import { type EntityId, idsOf } from "./entity.js";
import type { EntityDocument } from "./entity-document.js";
import { isCounted } from "./message.js";
import { messagePages } from "./message-pages.js";
import type { DecodedProfile } from "./profile-draft.js";

export interface FactDependencies {
  readonly history: Pick<History, "page">;
  readonly entityKeys: Pick<EntityKeys, "read">;
}

/** The table whose messages may be parts of others, which do not count for their stream. */
const TABLE_OF_PARTS = "account";

/** Event times to keep of each stream; one if it is absent. */
type NewestTimes = ReadonlyMap<string, number>;

/**
 * Returns the profile with the facts that its rules need, and reads its stored messages if some are missing: version
 * 1.0.0 stored none, and a rule may need more event times than before. A commit of the result conflicts with a message
 * that is stored concurrently.
 */
export async function withFacts(
  dependencies: FactDependencies,
  profile: DecodedProfile,
  rules: Rules,
): Promise<DecodedProfile> {
  const { entity, decoded } = profile;
  const { document } = decoded;
  const { newestTimes, segments } = rules.of(entity.table);
  if (segments.length === 0) return profile;
  const lacking = new Set(document.streams.filter((stream) => lacksFacts(document, stream, newestTimes)));
  if (lacking.size === 0) return profile;
  const ids = idsOf(entity);
  const keys = await dependencies.entityKeys.read(entity.table === TABLE_OF_PARTS ? ids : []);
  const fromHistory = new Map<string, StreamFacts>([...lacking].map((stream) => [stream, noFacts]));
  for await (const messages of messagePages(dependencies.history, ids)) {
    for (const message of messages) {
      const { stream, time } = message;
      const facts = fromHistory.get(stream);
      if (facts === undefined || !counts(message, keys)) continue;
      fromHistory.set(stream, unitedFacts(facts, factsOfMessage(time), newestTimes.get(stream) ?? 1));
    }
  }
  const facts = new Map(document.facts);
  for (const [stream, found] of fromHistory)
    facts.set(stream, completed(document.facts.get(stream), found, newestTimes.get(stream) ?? 1));
  return { entity, decoded: { ...decoded, document: { ...document, facts } } };
}

/** A message that cannot be decrypted counts. */
function counts(message: HistoryMessage, keys: ReadonlyMap<EntityId, Uint8Array>): boolean {
  try {
    const bytes = unseal(keys, message);
    return bytes === undefined || isCounted(bytes);
  } catch {
    return true;
  }
}

function lacksFacts({ facts }: EntityDocument, stream: string, newestTimes: NewestTimes): boolean {
  const known = facts.get(stream);
  return known === undefined || known.newest.length < Math.min(known.count, newestTimes.get(stream) ?? 1);
}

/** Time of a message that the history has lost: before every instant of a rule. */
const LOST = -1e21;

/**
 * Known counts stay: the history may have lost messages to its retention since. So do known event times. Lost ones are
 * filled in, so that the history is not read again for them.
 */
function completed(known: StreamFacts | undefined, found: StreamFacts, times: number): StreamFacts {
  if (known === undefined) return found;
  const newest = [...known.newest];
  const unmatched = [...known.newest];
  for (const time of found.newest) {
    const at = unmatched.indexOf(time);
    if (at === -1) newest.push(time);
    else unmatched.splice(at, 1);
  }
  while (newest.length < Math.min(known.count, times)) newest.push(LOST);
  return { ...known, newest: newest.sort((one, other) => other - one).slice(0, times) };
}
