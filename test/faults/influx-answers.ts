import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { systemClock } from "../../src/clock.js";
import type { Log } from "../../src/log.js";
import { openInflux } from "../../src/stores/influxdb/index.js";
import type { MetricEngine } from "../../src/stores/stores.js";
import { endsWithTest } from "../support/ends-with-test.js";
import { httpServer } from "../support/http-server.js";
import { settingsFor } from "../support/service.js";

/** Response to a request: a status with headers and a body, or a fault. */
export type Answer = number | FullAnswer | "never" | "reset" | "half a head" | "half a body";

/** A response, or a function that chooses it by the body of the request. */
export type AnswerFor = Answer | ((body: string) => Answer | Promise<Answer>);

interface FullAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  /** Bytes a second. */
  readonly slow?: number;
}

/** A server that shows a bucket to every client, and answers reads and writes as a test sets. */
export interface InfluxAnswers {
  readonly engine: MetricEngine;
  /** Bodies of the reads and writes so far. */
  readonly bodies: string[];
  /** Reads and writes that are neither given up nor answered. */
  readonly open: number;
  /** Log lines: text and fields. */
  readonly logged: string[];
  /** The next reads or writes are answered so, and those after them like the last. */
  answer(...answers: AnswerFor[]): void;
  close(): Promise<void>;
}

export async function influxAnswers(deadlineMs: number): Promise<InfluxAnswers> {
  let answers: AnswerFor[] = [204];
  let open = 0;
  const bodies: string[] = [];
  const logged: string[] = [];
  const server = await httpServer(async (request, response) => {
    if (request.method === "GET") return send(response, { status: 200, ...bucketAnswer });
    open += 1;
    response.on("close", () => {
      open -= 1;
    });
    let body: string;
    try {
      body = await bodyOf(request);
    } catch {
      return;
    }
    bodies.push(body);
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) as AnswerFor;
    give(response, typeof answer === "function" ? await answer(body) : answer);
  });
  const note = (...args: unknown[]) => logged.push(JSON.stringify(args));
  const log = { debug: note, info: () => {}, warn: note, error: note } as unknown as Log;
  const settings = settingsFor("/nothing-is-kept-here", {
    metrics: { url: `${server.url.replace("http", "influxdb")}/?org=o&bucket=b`, token: "secret" },
    limits: { store_deadline_ms: deadlineMs },
  });
  const engine = await openInflux({ settings, log, clock: systemClock });
  return {
    engine,
    bodies,
    logged,
    get open() {
      return open;
    },
    answer(...next) {
      answers = next;
      bodies.length = 0;
      logged.length = 0;
    },
    close: endsWithTest(async () => {
      await engine.close();
      await server.close();
    }),
  };
}

const bucketAnswer = {
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ buckets: [{ id: "1", name: "b", retentionRules: [] }] }),
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  const body = await buffer(request);
  return (request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString();
}

function give(response: ServerResponse, answer: Answer): void {
  const socket = response.socket as Socket;
  if (answer === "never") return;
  if (answer === "reset") return void socket.resetAndDestroy();
  if (answer === "half a head") return void socket.end("HTTP/1.1 20");
  if (answer === "half a body") return void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n,result,tab");
  send(response, typeof answer === "number" ? { status: answer } : answer);
}

function send(response: ServerResponse, { status, headers = {}, body = "", slow }: FullAnswer): void {
  response.writeHead(status, headers);
  if (slow === undefined) return void response.end(body);
  const bytes = Buffer.from(body);
  let at = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(at, at + slow / 20));
    at += slow / 20;
    if (at >= bytes.length) response.end();
  }, 50);
  response.on("close", () => clearInterval(timer));
}
