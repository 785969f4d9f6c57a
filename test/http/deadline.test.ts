import type { Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Type } from "@sinclair/typebox";
import { expect } from "chai";
import { readBody } from "../../src/http/core/body.js";
import { success } from "../../src/http/core/responses.js";
import { type Route, route } from "../../src/http/core/route.js";
import { newBudgets, serveRoutes } from "../support/routes-alone.js";

const DEADLINE_MS = 300;

const docs = { id: "test", tag: "operations", summary: "For tests" } as const;
const responses = { 200: success("TestAnswer", Type.String()) };

const routes: readonly Route[] = [
  route({
    method: "GET",
    path: "/never",
    scopes: "keyless",
    docs,
    responses,
    handler: () => new Promise<undefined>(() => {}),
  }),
  route({
    method: "POST",
    path: "/text",
    scopes: "keyless",
    docs,
    responses,
    handler: async ({ ctx }) => ({
      data: (await readBody(ctx, 1_000, { inflation: 1 }, newBudgets())).bytes.toString(),
    }),
  }),
  route({
    method: "POST",
    path: "/json",
    scopes: "keyless",
    docs,
    body: { schema: Type.Object({ text: Type.String() }), examples: () => ({}) },
    responses,
    handler: ({ body: { text } }) => ({ data: text }),
  }),
  route({
    method: "GET",
    path: "/parts",
    scopes: "keyless",
    docs,
    responses,
    async handler({ ctx }) {
      for (let part = 0; part < 4; part += 1) {
        await sleep(DEADLINE_MS / 2);
        ctx.state.deadline.restart();
      }
      return { data: "parts" };
    },
  }),
];

describe("the deadline of a request", () => {
  let server: Server;
  let url: string;

  before(async () => {
    const served = await serveRoutes(routes, { overrides: { limits: { store_deadline_ms: DEADLINE_MS } } });
    server = served.server;
    url = `http://127.0.0.1:${served.port}`;
  });
  after(() => server.close());

  it("results in 503 with Retry-After if a store does not respond", async () => {
    const answer = await fetch(`${url}/never`);
    expect([answer.status, answer.headers.get("retry-after")]).to.deep.equal([503, "1"]);
    expect(await answer.json()).to.include({ status: 503, message: "A store took too long; try again" });
  });

  for (const [path, type, text] of [
    ["/text", "text/plain", "sent slowly"],
    ["/json", "application/json", '{"text":"sent slowly"}'],
  ] as const) {
    it(`does not include the time in which the body arrives: ${type}`, async () => {
      const body = new ReadableStream({
        async start(controller) {
          for (const piece of [text.slice(0, 4), text.slice(4, 8), text.slice(8)]) {
            controller.enqueue(new TextEncoder().encode(piece));
            await sleep(DEADLINE_MS);
          }
          controller.close();
        },
      });
      const headers = { "content-type": type };
      const init: RequestInit & { duplex: "half" } = { method: "POST", body, headers, duplex: "half" };
      const answer = await fetch(`${url}${path}`, init);
      expect(await answer.json()).to.include({ status: 200, data: "sent slowly" });
    });
  }

  it("applies to each part of a long request separately", async () => {
    const answer = await fetch(`${url}/parts`);
    expect(await answer.json()).to.include({ status: 200, data: "parts" });
  });
});
