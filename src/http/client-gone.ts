import type { ApiContext } from "./api-router.js";

/** A signal that is aborted when the caller goes before the answer is out: what is done for it can stop. */
export function clientGone({ res }: Pick<ApiContext, "res">): AbortSignal {
  const gone = new AbortController();
  if (res.closed) gone.abort();
  res.once("close", () => {
    if (!res.writableFinished) gone.abort();
  });
  return gone.signal;
}
