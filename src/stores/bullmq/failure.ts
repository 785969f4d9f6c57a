import { ReplyError } from "ioredis";
import { ServiceError } from "../../errors.js";
import { tlsTrouble } from "../tls-trouble.js";

/** Names and messages of the client's own errors: it has no class for most of them. */
const ours = /^(MaxRetriesPerRequestError|AbortError|ConnectionClosedError|ClusterAllFailedError)$/;
const words =
  /^(Connection is closed|Stream isn't writeable and enableOfflineQueue options is false|Command timed out)/;

/** What an error of Redis means to a caller; undefined when it is none. */
export function redisFailure(error: unknown): ServiceError | undefined {
  if (!(error instanceof Error)) return undefined;
  if (!(error instanceof ReplyError) && !ours.test(error.name) && !words.test(error.message)) return undefined;
  return new ServiceError("unavailable", "Redis is away", { retryAfter: 1, cause: error });
}

/** Why the server lets nobody in, in words for its operator: a sentence about "it". Undefined when it may do so later by itself. */
export function connectionTrouble(error: unknown): string | undefined {
  const isRefused =
    error instanceof ReplyError && /^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password)/.test((error as Error).message);
  return isRefused ? "it refuses the user or the password" : tlsTrouble(error);
}
