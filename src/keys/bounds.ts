import { timeText } from "../formats/instant.js";
import type { KeyBounds, Scope } from "./api-key.js";

/** Bounds of what a request reads or writes, with the scopes whose routes they concern. */
export const dataBounds = {
  stream: ["entity:write", "metric:write"],
  fields: ["entity:read"],
  by: ["entity:read"],
} as const satisfies { readonly [B in keyof KeyBounds]?: readonly Scope[] };

export type DataBound = keyof typeof dataBounds;

export const dataBoundNames = Object.keys(dataBounds) as readonly DataBound[];

/** Scopes whose routes reach all data, so that a bound of data would limit nothing. */
export const unboundableScopes: readonly Scope[] = ["entity:delete", "entity:export", "admin"];

/** Returns whether a key with these bounds is expired at `now`, Unix ms. */
export function isExpired({ expiresAt = Number.POSITIVE_INFINITY }: KeyBounds, now: number): boolean {
  return now >= expiresAt;
}

/** Returns the bounds as responses and lists show them. */
export function shownBounds({ expiresAt, eventStreams, ...bounds }: KeyBounds) {
  const { fields, origins, ...single } = bounds;
  return {
    ...single,
    ...(eventStreams === undefined ? {} : { event_streams: eventStreams }),
    ...(fields === undefined ? {} : { fields: [...fields] }),
    ...(origins === undefined ? {} : { origins: [...origins] }),
    ...(expiresAt === undefined ? {} : { expires_at: timeText(expiresAt) }),
  };
}
