import type { Failpoint } from "../../failpoint.js";
import { type DeletionSubject, type DownstreamTarget, TargetError } from "../ports.js";
import { checkUrl, post, readBounded } from "./remote-call.js";

/** Another system that holds data about entities and erases it when called over HTTP. */
export interface RemoteTarget {
  readonly name: string;
  /** Base of `/erase` and `/verify`. Https, unless the host is this machine. */
  readonly url: string;
  readonly token: string;
}

/**
 * Creates a target from its settings. Throws a `StartError` when its address is not safe for identities. Calls in
 * progress fail at `stopping` or after `callMs`.
 */
export function remoteTarget(
  { name, url, token }: RemoteTarget,
  failpoint: Failpoint,
  stopping?: AbortSignal,
  callMs?: number,
): DownstreamTarget {
  checkUrl(`deletions.targets is wrong: ${name}`, url);
  const base = url.replace(/\/+$/, "");

  /** Returns the JSON body of a 2xx response; undefined without one. */
  async function call(verb: string, { requestId, table, identities, cutOff }: DeletionSubject): Promise<unknown> {
    const body = JSON.stringify({ request_id: requestId, table, identities, cut_off: Math.floor(cutOff) });
    const text = await post({ name, token, stopping, callMs }, `${base}/${verb}`, async () => ({ body }), readBounded);
    if (text === undefined) throw new TargetError(name, "sent too long a response");
    return text === "" ? undefined : parsed(text);
  }

  return {
    name,
    remote: true,

    async erase(subject) {
      if (subject.identities.length === 0) return;
      failpoint("target-begun");
      await call("erase", subject);
      failpoint("target-erased");
    },

    async verify(subject) {
      if (subject.identities.length === 0) return true;
      const { clean } = ((await call("verify", subject)) ?? {}) as { readonly clean?: unknown };
      if (typeof clean !== "boolean") throw new TargetError(name, "did not answer with a boolean `clean`");
      return clean;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
