import { ServiceError } from "../errors.js";

/** What `work` resolves with, if it does within `ms`; whatever else happens is told as a store that is away. */
export async function withDeadline<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("unavailable", "A store is away; try again", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
