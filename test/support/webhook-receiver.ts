import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { httpServer } from "./http-server.js";

/** A notification as it arrived. */
export interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: { readonly request_id: string; readonly completed_at: string; readonly receipt: string };
}

/** Answers in place of a short 200. */
const failures: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  "hangs without an answer": () => {},
  "answers 500": (_, response) => void response.writeHead(500).end("{}"),
  "closes the connection in the middle of the answer": ({ socket }, response) => {
    response.writeHead(200, { "content-length": "100" }).write("{", () => socket.destroy());
  },
  "answers 200 and never ends the answer": (_, response) => void response.writeHead(200).write("{"),
  "answers 200 with a long text": (_, response) => void response.writeHead(200).end("x".repeat(1_000_000)),
};

/** A system that receives notifications. It outlives the services that notify it. */
export interface WebhookReceiver {
  readonly url: string;
  readonly received: Received[];
  /** Name of a failure, or undefined. */
  failure: string | undefined;
  close(): Promise<void>;
}

export async function webhookReceiver(): Promise<WebhookReceiver> {
  const { url, close } = await httpServer(async (request, response) => {
    const { method, url: path } = request;
    const { authorization, "content-type": contentType } = request.headers;
    const body = JSON.parse(await text(request)) as Received["body"];
    receiver.received.push({ method, path, authorization, contentType, body });
    const fail = receiver.failure === undefined ? undefined : failures[receiver.failure];
    if (fail === undefined) response.writeHead(200).end("ok");
    else fail(request, response);
  });
  const receiver: WebhookReceiver = {
    url: `${url}/hooks/deleted?of=people`,
    received: [],
    failure: undefined,
    close,
  };
  return receiver;
}
