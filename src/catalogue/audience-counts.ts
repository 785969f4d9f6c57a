import { everyItem } from "../async/pages.js";
import { computingSegments } from "./computing.js";
import type { CatalogueStore, Experience, SegmentMembers } from "./ports.js";

/**
 * Counts the members of the catalogue's segments and experiences. Every list is in id order. Leaves out the counts that
 * depend on a segment that is computing.
 */
export function audienceCounts(
  store: Pick<CatalogueStore, "segmentIds" | "experiences" | "rules">,
  members: SegmentMembers,
) {
  const allSegments = () => everyItem(store.segmentIds, (id) => id);
  const allExperiences = () => everyItem(store.experiences, ({ id }) => id);

  /** Returns the results of `count` without those about a segment that was computing at its start or end. */
  async function settled<T>(count: () => Promise<T[]>, segmentsOf: (counted: T) => readonly string[]): Promise<T[]> {
    const before = await store.rules();
    const counts = await count();
    const after = await store.rules();
    const isChanged = before.generation !== after.generation;
    const unsettled = new Set([
      ...computingSegments(before.segments).keys(),
      ...computingSegments(after.segments).keys(),
    ]);
    if (isChanged) for (const { id } of after.segments) unsettled.add(id);
    return counts.filter((counted) => !segmentsOf(counted).some((id) => unsettled.has(id)));
  }

  return {
    segments: allSegments,

    segmentSizes(ids: ReadonlySet<string>): Promise<{ id: string; members: number }[]> {
      const count = async () => {
        const wanted = (await allSegments()).filter((id) => ids.has(id));
        const sizes = await members.sizes(wanted);
        return wanted.map((id, index) => ({ id, members: sizes[index] ?? 0 }));
      };
      return settled(count, ({ id }) => [id]);
    },

    async experiences(): Promise<{ id: string; group: string | undefined }[]> {
      return (await allExperiences()).map(({ id, group }) => ({ id, group }));
    },

    async experienceReach(ids: ReadonlySet<string>): Promise<{ id: string; potential: number; actual: number }[]> {
      const count = async () => {
        const wanted = (await allExperiences()).filter(({ id }) => ids.has(id));
        const potentials = await audienceSizes(wanted, members);
        const reach: { experience: Experience; potential: number; actual: number }[] = [];
        for (const experience of wanted) {
          const { audience, goal } = experience;
          const actual = await members.overlap(audience, goal);
          reach.push({ experience, potential: potentials.get(audience) ?? 0, actual });
        }
        return reach;
      };
      const reach = await settled(count, ({ experience: { audience, goal } }) => [audience, goal]);
      return reach.map(({ experience: { id }, ...counted }) => ({ id, ...counted }));
    },
  };
}

async function audienceSizes(
  experiences: readonly Experience[],
  members: Pick<SegmentMembers, "sizes">,
): Promise<Map<string, number>> {
  const audiences = [...new Set(experiences.map(({ audience }) => audience))];
  const sizes = await members.sizes(audiences);
  return new Map(audiences.map((id, index) => [id, sizes[index] ?? 0]));
}
