import type { Admission } from "./admission.js";
import type { ApiContext, Route } from "./api-router.js";
import type { Authenticate } from "./authenticate.js";
import { letBodyCome } from "./expect-continue.js";

/**
 * Takes a request to its route: a place, the key, a place of the key, and only then the handler and the body. Routes
 * that need no key need no place either, so that `/health` answers under any load.
 */
export async function serve(
  ctx: ApiContext,
  route: Route,
  { admission, authenticate }: { readonly admission: Admission; readonly authenticate: Authenticate },
): Promise<void> {
  if (route.access === "keyless") return route.handler(ctx);
  admission.enter();
  try {
    await authenticate(ctx, route.access);
    const { keyId } = ctx.state;
    const entering = admission.enterKey(keyId);
    if (entering !== undefined) await entering;
    try {
      letBodyCome(ctx.req, ctx.res);
      await route.handler(ctx);
    } finally {
      admission.leaveKey(keyId);
    }
  } finally {
    admission.leave();
  }
}
