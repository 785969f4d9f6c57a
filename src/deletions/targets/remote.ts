import { withTimeLimit } from "../../async/time-limit.js";
import { StartError } from "../../errors.js";
import type { Failpoint } from "../../failpoint.js";
import { type DeletionSubject, type DownstreamTarget, TargetError } from "../ports.js";

/** Another system that holds data about entities and erases it when called over HTTP. */
export interface RemoteTarget {
  readonly name: string;
  /** Base of `/erase` and `/verify`. Https, unless the host is this machine. */
  readonly url: string;
  readonly token: string;
}

/** Time limit of a call, ms. */
const CALL_MS = 10_000;
const MAX_RESPONSE_BYTES = 65_536;

/**
 * Creates a target from its settings. Throws a `StartError` when its address is not safe for identities. Calls in
 * progress fail at `stopping` or after `callMs`.
 */
export function remoteTarget(
  { name, url, token }: RemoteTarget,
  failpoint: Failpoint,
  stopping: AbortSignal = new AbortController().signal,
  callMs = CALL_MS,
): DownstreamTarget {
  const base = checkedUrl(name, url);

  /** Returns the JSON body of a 2xx response; undefined without one. */
  async function post(verb: string, subject: DeletionSubject): Promise<unknown> {
    const { requestId, table, identities, cutOff } = subject;
    const call = withTimeLimit(callMs, [stopping], async (signal) => {
      const response = await fetch(`${base}/${verb}`, {
        method: "POST",
        redirect: "error",
        signal,
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ request_id: requestId, table, identities, cut_off: Math.floor(cutOff) }),
      });
      return { ok: response.ok, status: response.status, text: await readBounded(response) };
    });
    const { ok, status, text } = await call.catch((error: unknown) => {
      throw new TargetError(name, failureText(error, callMs), error);
    });
    if (!ok) throw new TargetError(name, `answered ${status}`);
    return text === "" ? undefined : parsed(text);
  }

  return {
    name,
    remote: true,

    async erase(subject) {
      if (subject.identities.length === 0) return;
      failpoint("target-begun");
      await post("erase", subject);
      failpoint("target-erased");
    },

    async verify(subject) {
      if (subject.identities.length === 0) return true;
      const answer = await post("verify", subject);
      const clean = typeof answer === "object" && answer !== null && "clean" in answer ? answer.clean : undefined;
      if (typeof clean !== "boolean") throw new TargetError(name, "did not answer with a boolean `clean`");
      return clean;
    },
  };
}

function failureText(error: unknown, callMs: number): string {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  if (error instanceof TooLong) return "sent too long a response";
  return isLate ? `timed out after ${callMs / 1000} s` : "is unreachable";
}

function checkedUrl(name: string, url: string): string {
  const parsedUrl = URL.canParse(url) ? new URL(url) : undefined;
  const https = parsedUrl?.protocol === "https:";
  const local = parsedUrl?.protocol === "http:" && isLoopback(parsedUrl.hostname);
  if (!https && !local)
    throw new StartError(`deletions.targets is wrong: ${name} needs an https URL (http on this machine only)`);
  if (parsedUrl.username !== "" || parsedUrl.password !== "")
    throw new StartError(
      `deletions.targets is wrong: ${name} has a user name or password in its URL, which is not supported`,
    );
  return url.replace(/\/+$/, "");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

class TooLong extends Error {}

/** Returns the body as text. Rejects when it exceeds `MAX_RESPONSE_BYTES`. */
async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.byteLength;
    if (size > MAX_RESPONSE_BYTES) throw new TooLong();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
