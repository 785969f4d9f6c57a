import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { HookEvent } from "../../src/deletions/targets/hook.js";
import { httpServer } from "./http-server.js";

/** A request as it arrived. */
export interface HookRequest {
  readonly authorization: string | undefined;
  readonly signature: string;
  readonly text: string;
  readonly body: { readonly hook: string; readonly id: string; readonly sent_at: string; readonly events: HookEvent[] };
  /** Arrival, ms of `performance.now`. */
  readonly began: number;
  readonly concurrent: number;
}

/** Answers in place of a 200: whether the events are taken in then, and the answer. */
const troubles = {
  refuses: { takes: false, answer: (_: IncomingMessage, response: ServerResponse) => response.writeHead(500).end() },
  redirects: {
    takes: false,
    answer: (_: IncomingMessage, response: ServerResponse) => response.writeHead(307, { location: "/" }).end(),
  },
  hangs: { takes: false, answer: () => {} },
  resets: { takes: false, answer: ({ socket }: IncomingMessage) => socket.destroy() },
  "takes and refuses": {
    takes: true,
    answer: (_: IncomingMessage, response: ServerResponse) => response.writeHead(503).end(),
  },
  "takes and resets": { takes: true, answer: ({ socket }: IncomingMessage) => socket.destroy() },
} as const;

export type HookTrouble = keyof typeof troubles;

/**
 * A system that receives who joined and left. It knows the members of each segment from the events alone, as in
 * docs/hooks.md; `read` returns the members of a segment after a `reset`.
 */
export async function hookReceiver(read: (segment: string) => Promise<Values[]> = async () => []) {
  const requests: HookRequest[] = [];
  const members = new Map<string, Set<string>[]>();
  let concurrent = 0;

  async function take({ segment, change, identities }: HookEvent): Promise<void> {
    if (change === "deleted") return void members.delete(segment);
    if (change === "reset") return void members.set(segment, (await read(segment)).map(textsOf));
    const person = textsOf(identities as Values);
    const others = (members.get(segment) ?? []).filter((other) => isApart(person, other));
    members.set(segment, change === "joined" ? [...others, person] : others);
  }

  const { url, close } = await httpServer(async (request, response) => {
    const began = performance.now();
    concurrent += 1;
    response.once("close", () => {
      concurrent -= 1;
    });
    const sent = await text(request).catch(() => undefined);
    if (sent === undefined) return;
    const body = JSON.parse(sent) as HookRequest["body"];
    const { authorization, "x-signature": signature } = request.headers;
    requests.push({ authorization, signature: String(signature), text: sent, body, began, concurrent });
    const trouble = receiver.trouble === undefined ? undefined : troubles[receiver.trouble];
    if (receiver.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, receiver.delayMs));
    try {
      if (trouble?.takes !== false) for (const event of body.events) await take(event);
    } catch {
      // Members could not be read after a reset.
      return response.writeHead(503).end();
    }
    if (trouble === undefined) response.writeHead(204).end();
    else trouble.answer(request, response);
  });

  const receiver = {
    url: `${url}/segments?of=people`,
    requests,
    trouble: undefined as HookTrouble | undefined,
    /** Delay of each answer, ms. */
    delayMs: 0,
    events: () => requests.flatMap(({ body }) => body.events),
    /** The members of a segment as this system knows them, each as sorted texts `field:value`. */
    members: (segment: string) => (members.get(segment) ?? []).map((person) => [...person].sort()),
    /** Events about a person who has this value, as `change segment`. */
    changesOf: (value: string) =>
      receiver
        .events()
        .filter(({ identities }) =>
          Object.values(identities ?? {})
            .flat()
            .includes(value),
        )
        .map(({ change, segment }) => `${change} ${segment}`),
    close,
  };
  return receiver;
}

export type HookReceiver = Awaited<ReturnType<typeof hookReceiver>>;

export type Values = Readonly<Record<string, readonly string[]>>;

export function textsOf(identities: Values): Set<string> {
  return new Set(Object.entries(identities).flatMap(([field, values]) => values.map((value) => `${field}:${value}`)));
}

export function isApart(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return ![...a].some((value) => b.has(value));
}
