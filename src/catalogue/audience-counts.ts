import { setImmediate } from "node:timers/promises";
import { everyItem } from "../async/pages.js";
import { weightedBatches } from "../async/weighted-batches.js";
import type { CatalogueStore, Experience, SegmentMembers } from "./ports.js";

/** Counts the members of the catalogue's segments and experiences. Every list is in id order. */
export function audienceCounts(store: Pick<CatalogueStore, "segmentIds" | "experiences">, members: SegmentMembers) {
  const allSegments = () => everyItem(store.segmentIds, (id) => id);
  const allExperiences = () => everyItem(store.experiences, ({ id }) => id);

  return {
    segments: allSegments,

    async segmentSizes(ids: ReadonlySet<string>): Promise<{ id: string; members: number }[]> {
      const wanted = (await allSegments()).filter((id) => ids.has(id));
      const sizes = await sizesOf(wanted, members);
      return wanted.map((id, index) => ({ id, members: sizes[index] ?? 0 }));
    },

    async experiences(): Promise<{ id: string; group: string | undefined }[]> {
      return (await allExperiences()).map(({ id, group }) => ({ id, group }));
    },

    async experienceReach(ids: ReadonlySet<string>): Promise<{ id: string; potential: number; actual: number }[]> {
      const wanted = (await allExperiences()).filter(({ id }) => ids.has(id));
      const potentials = await audienceSizes(wanted, members);
      const reach: { id: string; potential: number; actual: number }[] = [];
      for (const { id, audience, goal } of wanted) {
        const actual = await members.overlap(audience, goal);
        reach.push({ id, potential: potentials.get(audience) ?? 0, actual });
        await setImmediate();
      }
      return reach;
    },
  };
}

/** Segments counted at once; other work runs in between. */
const BATCH = 50;

/** Returns the number of members of each segment, in the order of the request. */
export async function sizesOf(ids: readonly string[], members: Pick<SegmentMembers, "sizes">): Promise<number[]> {
  const sizes: number[] = [];
  for (const some of weightedBatches(ids, BATCH)) {
    if (sizes.length > 0) await setImmediate();
    sizes.push(...(await members.sizes(some)));
  }
  return sizes;
}

async function audienceSizes(
  experiences: readonly Experience[],
  members: Pick<SegmentMembers, "sizes">,
): Promise<Map<string, number>> {
  const audiences = [...new Set(experiences.map(({ audience }) => audience))];
  const sizes = await sizesOf(audiences, members);
  return new Map(audiences.map((id, index) => [id, sizes[index] ?? 0]));
}
