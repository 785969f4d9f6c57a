import { useEffect, useState } from "preact/hooks";
import type { Page } from "../view.js";
import { useTask } from "../views/use-task.js";
import type { SegmentNames } from "./rule-words.js";

/** Returns the names of the segments in a rule, by id, once they have been read; none without `metric:read`. */
export function useSegmentNames(rule: unknown, page: Page): SegmentNames {
  const [names, setNames] = useState<SegmentNames>(new Map());
  const { run } = useTask();
  const ids = segmentsIn(rule).join(",");
  useEffect(() => {
    if (ids === "" || !page.scopes.has("metric:read")) return;
    run(async (signal) => {
      const found = new Map<string, string>();
      for await (const { id, name } of page.client.segmentSizes({ ids }, { signal })) found.set(id, name);
      setNames(found);
    });
  }, [ids]);
  return names;
}

/** Returns the ids of segments in any part of a rule. An id with a comma cannot be requested. */
function segmentsIn(rule: unknown): string[] {
  const found = new Set<string>();
  JSON.stringify(rule, (field, value) => {
    if (field === "segment" && typeof value === "string" && !value.includes(",")) found.add(value);
    return value;
  });
  return [...found].sort();
}
