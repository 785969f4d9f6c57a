import { withTimeLimit } from "../../async/time-limit.js";
import { StartError } from "../../errors.js";
import type { Failpoint } from "../../failpoint.js";
import { type DownstreamTarget, type ErasureSubject, TargetError } from "../ports.js";

/** Another system that holds data about entities, and erases when it is called over HTTP. */
export interface RemoteTarget {
  readonly name: string;
  /** `/erase` and `/verify` are added to it. Https, unless it is on this machine. */
  readonly url: string;
  readonly token: string;
}

/** The longest that a call takes, ms. */
const CALL_MS = 10_000;
const LONGEST_ANSWER_BYTES = 65_536;

/** Throws a `StartError` when the target cannot be trusted with identities. Calls under way end in failure at `stopping`, or after `callMs`. */
export function remoteTarget(
  { name, url, token }: RemoteTarget,
  failpoint: Failpoint,
  stopping: AbortSignal = new AbortController().signal,
  callMs = CALL_MS,
): DownstreamTarget {
  const base = trusted(name, url);

  /** The JSON answer to a 2xx; undefined when there is none. */
  async function post(verb: string, subject: ErasureSubject): Promise<unknown> {
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
      throw new TargetError(name, wordsOf(error, callMs), error);
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
      if (typeof clean !== "boolean") throw new TargetError(name, "did not say whether it is clean");
      return clean;
    },
  };
}

function wordsOf(error: unknown, callMs: number): string {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  if (error instanceof TooLong) return "answered at too great length";
  return isLate ? `did not answer in ${callMs / 1000} s` : "cannot be reached";
}

function trusted(name: string, url: string): string {
  const parsedUrl = URL.canParse(url) ? new URL(url) : undefined;
  const https = parsedUrl?.protocol === "https:";
  const local = parsedUrl?.protocol === "http:" && isLoopback(parsedUrl.hostname);
  if (!https && !local)
    throw new StartError(`deletions.targets is wrong: ${name} needs an https address (http on this machine only)`);
  if (parsedUrl.username !== "" || parsedUrl.password !== "")
    throw new StartError(`deletions.targets is wrong: ${name} has a user in its address, which is not sent`);
  return url.replace(/\/+$/, "");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

class TooLong extends Error {}

/** The body as text; rejects when it is longer than an answer can be. */
async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.byteLength;
    if (size > LONGEST_ANSWER_BYTES) throw new TooLong();
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
