import { useEffect, useState } from "preact/hooks";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";
import type { SegmentNames } from "./rule-words.js";

/** Returns the names of the segments in a rule, by id, once they have been read; none without `metric:read`. */
export function useSegmentNames(rule: unknown, page: Page): SegmentNames {
  const [names, setNames] = useState<SegmentNames>(new Map());
  const { run } = useTask();
  useEffect(() => run(async (signal) => setNames(await segmentNames(rule, { ...page, signal }))), [idsIn(rule)]);
  return names;
}

/** Reads the names of the segments in a rule, by id; none without `metric:read`. */
export async function segmentNames(rule: unknown, { client, scopes, signal }: Page): Promise<SegmentNames> {
  const found = new Map<string, string>();
  const ids = idsIn(rule);
  if (ids === "" || !scopes.has("metric:read")) return found;
  for await (const { id, name } of client.segmentSizes({ ids }, { signal })) found.set(id, name);
  return found;
}

/** Returns the ids of segments in any part of a rule, with commas. An id with a comma cannot be requested. */
function idsIn(rule: unknown): string {
  const found = new Set<string>();
  JSON.stringify(rule, (field, value) => {
    if (field === "segment" && typeof value === "string" && !value.includes(",")) found.add(value);
    return value;
  });
  return [...found].sort().join(",");
}
