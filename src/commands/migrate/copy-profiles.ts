import type { CopyRecord, Part, PartSource, PartTarget, ProfileSource, ProfileTarget } from "../../stores/copy.js";
import { Progress } from "../progress.js";
import { Checksum, type Comparison, canonical } from "./comparison.js";

/** In this order: an erasure is known before any data of its entity could be read. */
const parts: readonly Part[] = [
  "deletions",
  "entity keys",
  "entities",
  "identities",
  "history",
  "stream counts",
  "streams",
  "segments",
  "experiences",
  "API keys",
  "repeatable requests",
];

/**
 * Copies every part, and calls `onBatch` whenever some records are there for good. `anew`: nothing is there yet; otherwise what
 * an interrupted copy left is put right first.
 */
export async function copyProfiles(
  source: ProfileSource,
  target: ProfileTarget,
  anew: boolean,
  onBatch: () => void,
): Promise<void> {
  for (const part of parts) {
    const { from, to } = ends(source, target, part);
    if (!anew) await removeOthers(from, to);
    const progress = new Progress(part, { unit: "records", total: await from.count() });
    let done = 0;
    for await (const records of from.all()) {
      await to.add(records);
      onBatch();
      done += records.length;
      progress.update(done);
    }
    progress.finish();
  }
  await target.setFacts(source.facts);
}

/** Reads every part again, on both sides. */
export async function compareProfiles(source: ProfileSource, target: ProfileTarget): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  const counts = await Promise.all(parts.map((part) => source.parts[part].count()));
  const progress = new Progress("profiles compared", { unit: "records", total: counts.reduce((a, b) => a + b) });
  let done = 0;
  for (const part of parts) {
    const { from, to } = ends(source, target, part);
    const ofTarget = await summaryOf(to, (count) => progress.update(done + count));
    comparisons.push({ part, source: await summaryOf(from, () => {}), target: ofTarget });
    done += ofTarget.count;
  }
  progress.finish();
  const facts = [source.facts, await target.facts()].map((facts) => {
    const checksum = new Checksum();
    checksum.addRecord(facts);
    return checksum.summary;
  });
  const [ofSource, ofTarget] = facts;
  if (ofSource !== undefined && ofTarget !== undefined) {
    comparisons.push({ part: "single facts", source: ofSource, target: ofTarget });
  }
  return comparisons;
}

/** The two ends of one part. That both hold the same records is said by their types, but not to the compiler in a loop. */
function ends(source: ProfileSource, target: ProfileTarget, part: Part) {
  return { from: source.parts[part] as PartSource, to: target.parts[part] as PartTarget };
}

/** Removes what the source does not hold in the same form: it was written to since the copy was interrupted. */
async function removeOthers(from: PartSource, to: PartTarget): Promise<void> {
  const others: string[] = [];
  for await (const records of to.all()) {
    const kept = new Map((await from.find(records.map(({ id }) => id))).map((record) => [record.id, record]));
    others.push(...records.filter((record) => !isSame(record, kept.get(record.id))).map(({ id }) => id));
  }
  if (others.length > 0) await to.remove(others);
}

function isSame(a: CopyRecord, b: CopyRecord | undefined): boolean {
  return b !== undefined && canonical(a) === canonical(b);
}

async function summaryOf({ all }: Pick<PartSource, "all">, onBatch: (count: number) => void) {
  const checksum = new Checksum();
  for await (const records of all()) {
    for (const record of records) checksum.addRecord(record);
    onBatch(checksum.summary.count);
  }
  return checksum.summary;
}
