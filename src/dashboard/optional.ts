import { ApiError } from "../client/client.js";

/** A result, or the message of the 403 that the key received. */
export interface Optional<T> {
  readonly value?: T;
  readonly refusal?: string;
}

/** Turns a 403 into a refusal, which one card shows; any other error concerns the whole view. */
export async function optional<T>(request: Promise<T>): Promise<Optional<T>> {
  try {
    return { value: await request };
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return { refusal: error.message };
    throw error;
  }
}

/** Returns the result; undefined for a 404. */
export async function unlessNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
