import { ServiceError } from "../../errors.js";
import type { KeyBounds, Scope } from "../../keys/api-key.js";
import { type DataBound, dataBoundNames, dataBounds } from "../../keys/bounds.js";
import type { ApiContext, Route } from "../core/route.js";

/** Returns the error of a request outside a bound of its key. Names the bound, never its value. */
export function outOfBound(name: keyof KeyBounds): ServiceError {
  const message = `The key does not allow this request (bound ${name})`;
  return new ServiceError("forbidden", message, { issues: [{ code: "forbidden", path: name, message }] });
}

/** Refuses a request from an origin outside the bound of its key. A request without `Origin` is not from a page. */
export function requireOrigin(ctx: ApiContext, { origins }: KeyBounds): void {
  const { origin } = ctx.req.headers;
  if (origins !== undefined && origin !== undefined && !origins.includes(origin)) throw outOfBound("origins");
}

/** Refuses a request that reads or writes outside a bound of its key. */
export function requireWithin(
  { scopes, alsoScope, within }: Pick<Route, "scopes" | "alsoScope" | "within">,
  ctx: ApiContext,
): void {
  const { bounds } = ctx.state;
  const isWithin = <B extends DataBound>(name: B): boolean => {
    const bound: KeyBounds[B] = bounds[name];
    const concerns = (scope: Scope) => scope === alsoScope || scopes.includes(scope);
    if (bound === undefined || !dataBounds[name].some(concerns)) return true;
    return within?.[name]?.(bound, ctx.params) ?? false;
  };
  for (const name of dataBoundNames) if (!isWithin(name)) throw outOfBound(name);
}
