import { ServiceError } from "../errors.js";
import { whenOut } from "./exchanges.js";
import type { ApiContext } from "./route.js";

/** Bytes of a body below which it is neither counted nor refused: the number of requests at once bounds these. */
const SMALL = 65_536;

/** Bounds the memory of responses that are finished and wait for their callers to take them. */
export type BoundUnsent = (ctx: ApiContext) => void;

/** Lets `most` bytes wait at once; then a large response more is refused as `unavailable`, unless it is the only one. */
export function boundUnsent(most: number): BoundUnsent {
  let waiting = 0;
  return (ctx) => {
    const bytes = bodyBytes(ctx);
    if (bytes <= SMALL) return;
    if (waiting > 0 && waiting + bytes > most) {
      throw new ServiceError("unavailable", "Too many answers wait for their callers to take them", { retryAfter: 1 });
    }
    waiting += bytes;
    whenOut(ctx.res, () => {
      waiting -= bytes;
    });
  };
}

/** Bytes of the body that will be sent, made text if it is an object. A stream has none: it goes no faster than its reader. */
function bodyBytes(ctx: ApiContext): number {
  const { body } = ctx;
  if (body === null || body === undefined || ctx.method === "HEAD") return 0;
  if (typeof body === "object" && !Buffer.isBuffer(body) && !isStream(body)) ctx.body = JSON.stringify(body);
  return ctx.length ?? 0;
}

function isStream(body: object): boolean {
  return "pipe" in body;
}
