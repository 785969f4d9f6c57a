import { withTimeLimit } from "../async/time-limit.js";
import { ServiceError } from "../errors.js";

/** What `work` resolves with, if it does within `ms`; whatever else happens is told as a store that is away. */
export async function withDeadline<T>(ms: number, work: () => Promise<T>): Promise<T> {
  try {
    return await withTimeLimit(ms, [], work);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("unavailable", "A store is away; try again", { cause: error });
  }
}
