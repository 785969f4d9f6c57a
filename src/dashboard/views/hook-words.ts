import type { HookStatus } from "../../client/client.js";
import { age } from "../duration.js";

/** Whether the hook took its last request. */
export function hookState({ problem }: Pick<HookStatus, "problem">): "up" | "down" {
  return problem === null ? "up" : "down";
}

/** The age of the oldest change that waits, `5 min`; a dash without one. */
export function lagText({ waiting, lag_seconds }: Pick<HookStatus, "waiting" | "lag_seconds">): string {
  return waiting === 0 ? "–" : age(lag_seconds * 1000);
}

/** The failure of the last request, without the name of the hook: `answered 500`; a dash without one. */
export function hookNote({ name, problem }: Pick<HookStatus, "name" | "problem">): string {
  return problem?.replace(`${name} `, "") ?? "–";
}
