import type { Experience } from "../../client/client.js";
import type { Page } from "../view.js";

/** Returns the experiences that match, of all in the catalogue. */
export async function findExperiences(
  { client, signal }: Page,
  matches: (experience: Experience) => boolean,
): Promise<Experience[]> {
  const found: Experience[] = [];
  for await (const one of client.experiences({ limit: 1_000 }, { signal })) if (matches(one)) found.push(one);
  return found;
}
