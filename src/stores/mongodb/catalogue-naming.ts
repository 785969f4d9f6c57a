import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Experience } from "../../catalogue/experience.js";
import { ServiceError } from "../../errors.js";
import {
  type CatalogueDocuments,
  type ExperienceDocument,
  experienceDocument,
  namesOf,
  type SegmentDocument,
} from "./catalogue-documents.js";
import { isDuplicate, oneOf } from "./collection.js";

/*
 * No experience ever names a segment that is not there, though two documents are concerned. A put first reserves the names
 * (`next`), then looks at the segments, and is done only if its reservation still stands. A deletion first marks the
 * segment (`going`), then looks for names, and is done only if its mark still stands. Who meets the other's mark takes it
 * away: so of the two one at least begins again, and what a dead process leaves behind keeps nobody waiting.
 */

/** Keeps the experience if its segments are there; otherwise says which are not. */
export function putExperience(catalogue: CatalogueDocuments, experience: Experience) {
  return retried(() => tryPut(catalogue, experience));
}

/** Deletes the segment if no experience names it. */
export function deleteSegment(catalogue: CatalogueDocuments, id: string) {
  return retried(() => tryDelete(catalogue, id));
}

interface Missing {
  readonly missing: readonly ("audience" | "goal")[];
}

/** Undefined: somebody took the reservation away. */
async function tryPut(catalogue: CatalogueDocuments, experience: Experience): Promise<Missing | undefined> {
  const { experiences } = catalogue;
  const unknown = await missingFrom(catalogue, experience);
  if (unknown.length > 0) return { missing: unknown };
  const { id } = experience;
  const token = newToken();
  await experiences.updateOne(
    { _id: id },
    { $set: { next: { token } }, $setOnInsert: { live: false }, $addToSet: { names: { $each: namesOf(experience) } } },
    { upsert: true },
  );
  const missing = await missingFrom(catalogue, experience);
  if (missing.length > 0) {
    const reserved = await experiences.findOne({ _id: id });
    if (reserved?.next?.token === token) await takeBack(catalogue, reserved);
    return { missing };
  }
  const { _id, ...kept } = experienceDocument(experience);
  const { matchedCount } = await experiences.replaceOne({ _id, "next.token": token }, kept);
  return matchedCount === 1 ? { missing: [] } : undefined;
}

/** Which of its segments are not there. Deletions that look whether those that are there can go begin again. */
async function missingFrom({ segments }: CatalogueDocuments, named: Pick<Experience, "audience" | "goal">) {
  for (;;) {
    const found = await segments.find({ _id: oneOf(namesOf(named)), live: true }).toArray();
    const going = found.filter((segment) => segment.going !== undefined);
    if (going.length === 0) {
      const there = new Set(found.map(({ _id }) => _id));
      return (["audience", "goal"] as const).filter((part) => !there.has(named[part]));
    }
    for (const segment of going) await unmark(segments, segment);
  }
}

/** Undefined: somebody took the mark away. */
async function tryDelete(catalogue: CatalogueDocuments, id: string) {
  const { segments, experiences } = catalogue;
  const going = newToken();
  const marked = await segments.updateOne({ _id: id, live: true }, { $set: { going } });
  if (marked.matchedCount === 0) return "absent";
  for (const experience of await experiences.find({ names: id }).toArray()) {
    if (experience.live && (experience.audience === id || experience.goal === id)) {
      await unmark(segments, { _id: id, going });
      return "in-use";
    }
    if (!(await takeBack(catalogue, experience))) return undefined;
  }
  const { matchedCount } = await segments.updateOne(
    { _id: id, going },
    { $set: { live: false, removed: true }, $unset: { name: "", table: "", going: "" } },
  );
  return matchedCount === 1 ? "deleted" : undefined;
}

async function unmark(
  segments: CatalogueDocuments["segments"],
  { _id, going }: Pick<SegmentDocument, "_id" | "going">,
) {
  if (going !== undefined) await segments.updateOne({ _id, going }, { $unset: { going: "" } });
}

/** Takes the reservation of a put away: the experience is as if there had been none. False: it changed meanwhile. */
async function takeBack({ experiences }: CatalogueDocuments, document: ExperienceDocument): Promise<boolean> {
  const { _id, next, ...kept } = document;
  if (next === undefined) return true;
  const unchanged = { _id, "next.token": next.token };
  const { live, audience = "", goal = "" } = kept;
  if (!live) return (await experiences.deleteOne(unchanged)).deletedCount === 1;
  const names = namesOf({ audience, goal });
  return (await experiences.replaceOne(unchanged, { ...kept, names })).matchedCount === 1;
}

/** Times that a put or a deletion begins again. */
const TRIES = 40;
const LONGEST_PAUSE_MS = 100;

/** Pauses are of chance length, so that of two who keep each other from it one gets through. */
async function retried<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
    } catch (error) {
      // Two who make one document at the same moment: one of them finds it at the next attempt.
      if (!isDuplicate(error)) throw error;
    }
    await sleep(Math.random() * Math.min(2 ** tries, LONGEST_PAUSE_MS));
  }
  throw new ServiceError("unavailable", "Too many change the same part of the catalogue; try again", { retryAfter: 1 });
}

function newToken(): string {
  return randomBytes(12).toString("hex");
}
