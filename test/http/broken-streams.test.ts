import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { Type } from "@sinclair/typebox";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { streamPieces } from "../../src/http/core/response-body.js";
import { done } from "../../src/http/core/responses.js";
import { type ApiContext, route } from "../../src/http/core/route.js";
import type { Log } from "../../src/log.js";
import { openSocket, rawRequest } from "../support/raw-request.js";
import { serveRoutes } from "../support/routes-alone.js";
import { until } from "../support/until.js";

/** Serves one route whose answer is this stream; `logged` has the fields of each line of error that it writes. */
async function serving(stream: Readable | AsyncGenerator<string>) {
  const logged: object[] = [];
  const lines = route({
    method: "GET",
    path: "/lines",
    scopes: ["metric:read"],
    docs: { id: "readLines", tag: "operations", summary: "Lines" },
    responses: { 200: done({ "text/plain": Type.String() }) },
    async handler({ ctx }) {
      ctx.status = 200;
      if (stream instanceof Readable) ctx.body = stream;
      else await streamPieces(ctx, stream);
      return undefined;
    },
  });
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields: object) => logged.push(fields),
  } as unknown as Log;
  return { ...(await serveRoutes([lines], { log })), logged };
}

const HEAD = "GET /lines HTTP/1.1\r\nHost: a\r\n";

describe("a streamed response", () => {
  it("reads each piece from its source only after the previous one was written", async () => {
    let made = 0;
    async function* pieces() {
      while (made < 5) {
        made += 1;
        yield "x".repeat(100_000);
      }
    }
    const ctx = {} as ApiContext;
    await streamPieces(ctx, pieces());
    const written: (() => void)[] = [];
    const slow = new Writable({ highWaterMark: 1, write: (_, __, done) => void written.push(done) });
    (ctx.body as Readable).pipe(slow);
    for (let piece = 1; piece <= 5; piece += 1) {
      for (let turns = 0; turns < 10; turns += 1) await setImmediate();
      expect(made).to.equal(piece);
      written.shift()?.();
    }
    await once(slow, "finish");
  });

  const failure = new TypeError("what a store said");
  const line = `${"first".repeat(1000)}\n`;
  async function* failing() {
    yield line;
    throw failure;
  }
  for (const [kind, source] of [
    ["a stream", () => Readable.from(failing(), { objectMode: false })],
    ["pieces", failing],
  ] as const) {
    for (const encoding of ["identity", "gzip"]) {
      it(`is cut off if its source (${kind}) fails half-way, and the error is logged (${encoding})`, async () => {
        const { port, logged } = await serving(source());
        const { text } = await rawRequest(port, `${HEAD}Accept-Encoding: ${encoding}\r\n\r\n`);
        expect(text.endsWith("0\r\n\r\n")).to.equal(false);
        expect(logged).to.have.length(1);
        expect(logged[0]).to.include({ route: "/lines", name: "TypeError" });
        expect(JSON.stringify(logged)).to.not.include(failure.message);
      });
    }
  }

  for (const encoding of ["identity", "gzip"]) {
    it(`closes its source and logs nothing if the caller disconnects (${encoding})`, async () => {
      const stream = new Readable({ read() {} });
      stream.push(randomBytes(200_000).toString("hex"));
      const { port, logged } = await serving(stream);
      const socket = await openSocket(port);
      socket.write(`${HEAD}Accept-Encoding: ${encoding}\r\n\r\n`);
      await once(socket, "data");
      socket.resetAndDestroy();
      await until("its source is closed", () => stream.destroyed);
      expect(logged).to.deep.equal([]);
    });
  }

  it("is an error response if its source fails before the first piece", async () => {
    const { port } = await serving(piecesOf(new ServiceError("unavailable", "The store is away")));
    const { status, body } = await rawRequest(port, `${HEAD}\r\n`);
    expect(status).to.equal(503);
    expect(body).to.include({ message: "The store is away", data: null });
  });
});

async function* piecesOf(error: Error | undefined): AsyncGenerator<string> {
  if (error !== undefined) throw error;
  yield "a piece";
}
