import type { Admission } from "./admission.js";
import type { ApiContext, Route } from "./api-router.js";
import type { Authenticate } from "./authenticate.js";
import { whenOut } from "./exchanges.js";
import { letBodyCome } from "./expect-continue.js";
import type { BoundUnsent } from "./unsent-bytes.js";

export interface ServeParts {
  readonly admission: Admission;
  readonly authenticate: Authenticate;
  readonly boundUnsent: BoundUnsent;
}

/**
 * Takes a request to its route: a place, the key, a place of the key, and only then the handler and the body. The places
 * are kept until the response is out. Routes that need no key need no place either, and those with places of their own
 * none of the service's, so that `/health`, `/ready` and `/metrics` answer under any load.
 */
export async function serve(ctx: ApiContext, route: Route, parts: ServeParts): Promise<void> {
  if (route.access === "keyless") return route.handler(ctx);
  const leave = await enter(ctx, route, parts);
  try {
    letBodyCome(ctx.req, ctx.res);
    await route.handler(ctx);
    parts.boundUnsent(ctx);
  } finally {
    whenOut(ctx.res, leave);
  }
}

/** Takes the places; hands out what gives them back. A request without a valid key keeps none while its refusal is sent. */
async function enter(ctx: ApiContext, route: Route, { admission, authenticate }: ServeParts): Promise<() => void> {
  const leaveService = route.ownPlaces ? () => {} : admission.enter();
  try {
    await authenticate(ctx, route.access);
    const { keyId } = ctx.state;
    const leaveKey = await admission.enterKey(route.ownPlaces ? `${keyId} ${route.path}` : keyId);
    return () => {
      leaveKey();
      leaveService();
    };
  } catch (error) {
    leaveService();
    throw error;
  }
}
