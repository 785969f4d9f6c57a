import type { RealService } from "../../support/real-service.js";
import { adminKey } from "../../support/service.js";

/** The response of a process, or the failure of the request. */
export interface Answer {
  /** 0 where there was no response in time, or the connection broke. */
  readonly status: number;
  /** JSON. */
  readonly body: unknown;
  /** Whether the request was served. */
  readonly served: boolean;
  /** Whether it is a 503 with the time after which the request can be repeated. */
  readonly mayRepeat: boolean;
  readonly requestId: string | null;
  /** A line for a report. */
  readonly text: string;
}

/** Maximum duration of a response, ms: three times `limits.store_deadline_ms`. */
const IN_TIME_MS = 30_000;

/** Asks a process; a request without a response in time is an answer too. */
export async function ask(
  service: RealService,
  path: string,
  init: { readonly method?: string; readonly json?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { method = "GET", json, headers = {} } = init;
  const began = performance.now();
  const said = (what: string) => `${method} ${path} after ${Math.round(performance.now() - began)} ms: ${what}`;
  try {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        authorization: adminKey,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      signal: AbortSignal.timeout(IN_TIME_MS),
    });
    const bytes = await response.text();
    const retryAfter = response.headers.get("retry-after");
    return {
      status: response.status,
      body: JSON.parse(bytes),
      served: response.status === 200,
      mayRepeat: response.status === 503 && Number(retryAfter) >= 1,
      requestId: response.headers.get("x-request-id"),
      text: said(`${response.status}, Retry-After ${retryAfter}, ${bytes}`),
    };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause})` : "";
    const nothing = { status: 0, body: { data: null }, served: false, mayRepeat: false, requestId: null };
    return { ...nothing, text: said(`${error}${cause}`) };
  }
}
