import { createHash } from "node:crypto";
import { request } from "node:http";
import { expect } from "chai";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

const NOW = Date.UTC(2024, 5, 15, 12, 30);
const DAY = 24 * 3_600_000;

describe("collecting with an Idempotency-Key", () => {
  let now = NOW;
  let serial = 0;

  const service = serviceOfSuite({ roles: ["api"] }, { clock: () => now });
  beforeEach(() => {
    serial += 1;
    now += 1;
  });

  const own = (value: string) => `${value}${serial}`;
  const lines = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => `{"_uid":"${own("u")}-${from + i}","x":${from + i}}\n`).join("");

  async function post(body: string, { key = own("key"), type = "application/x-ndjson", query = "" } = {}) {
    const answer = await service.fetch(`/collect/json/${own("stream")}${query}`, {
      method: "POST",
      body,
      headers: { "content-type": type, "idempotency-key": key },
    });
    return { status: answer.status, body: (await answer.json()) as { data: unknown } };
  }

  async function counted(): Promise<number> {
    const counts = await service.service.stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 9999);
    return counts.filter(({ stream }) => stream === own("stream")).reduce((sum, { count }) => sum + count, 0);
  }

  for (const [type, body] of [
    ["application/x-ndjson", () => `${lines(0, 600)}{}\n${lines(600, 3)}`],
    [
      "application/json",
      () => `[${lines(0, 600).trim().split("\n").join(",")},{},${lines(600, 3).trim().split("\n").join(",")}]`,
    ],
  ] as const) {
    it(`returns the first response to a repeat of ${type}, and counts it once`, async () => {
      const first = await post(body(), { type });
      expect(first.body.data).to.deep.include({ message_count: 603, rejected_count: 1 });
      now += 1000;
      expect(await post(body(), { type })).to.deep.equal(first);
      expect(await counted()).to.equal(603);
    });
  }

  it("returns the first response to a repeat of a single invalid object", async () => {
    const first = await post("{}", { type: "application/json" });
    expect(first.status).to.equal(400);
    expect(await post("{}", { type: "application/json" })).to.deep.equal(first);
  });

  for (const [what, body] of [
    ["another body", () => lines(1, 5)],
    ["a longer body", () => lines(0, 6)],
    ["a shorter body", () => lines(0, 4)],
    ["an empty body", () => ""],
  ] as const) {
    it(`refuses ${what} under the same key`, async () => {
      expect((await post(lines(0, 5))).status).to.equal(200);
      const { status } = await post(body());
      expect(status).to.equal(what === "an empty body" ? 400 : 422);
      expect(await counted()).to.equal(5);
      expect((await post(lines(0, 5))).status).to.equal(200);
    });
  }

  it("distinguishes streams and queries", async () => {
    await post(lines(0, 2));
    expect((await post(lines(0, 2), { query: "?table=user" })).status).to.equal(200);
    expect(await counted()).to.equal(4);
    serial += 1;
    expect((await post(lines(0, 2), { key: `key${serial - 1}` })).status).to.equal(200);
    expect(await counted()).to.equal(2);
  });

  it("stores nothing that could confirm a guess of the key or of the messages", async () => {
    const { idempotency } = service.service.stores;
    const noted: string[] = [];
    const { finish } = idempotency;
    idempotency.finish = (request) => {
      noted.push(request.id, request.digest);
      return finish(request);
    };
    const body = lines(0, 2);
    await post(body);
    idempotency.finish = finish;
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
    const [first = "", second = ""] = body.trim().split("\n");
    const digest = sha256(`${sha256(`\n${first}`)}\n${second}`);
    const id = sha256(JSON.stringify(["bench", `/collect/json/${own("stream")}`, "", own("key")]));
    expect(noted).to.have.length(2);
    expect(noted).to.not.include(id).and.not.include(digest);
  });

  it("processes a repeat as new after a day", async () => {
    await post(lines(0, 2));
    now += DAY + 1000;
    await post(lines(0, 2));
    expect(await counted()).to.equal(4);
  });

  for (const key of ["", "x".repeat(257)]) {
    it(`refuses a key of ${key.length} characters`, async () => {
      expect((await post(lines(0, 1), { key })).status).to.equal(400);
      expect(await counted()).to.equal(0);
    });
  }

  /** Sends the beginning of a body and leaves the rest open. */
  function begin(body: string, query = ""): { write(more: string): void; end(): Promise<number>; breakOff(): void } {
    const headers = {
      authorization: service.key,
      "content-type": "application/x-ndjson",
      "idempotency-key": own("key"),
    };
    const sending = request(`${service.url}/collect/json/${own("stream")}${query}`, { method: "POST", headers });
    const status = new Promise<number>((resolve, reject) => {
      sending.once("response", (answer) => resolve(answer.resume().statusCode ?? 0)).once("error", reject);
    });
    status.catch(() => {});
    sending.write(body);
    return {
      write: (more) => sending.write(more),
      end: () => {
        sending.end();
        return status;
      },
      breakOff: () => sending.destroy(),
    };
  }

  it("processes a repeat while the first request is in progress, and counts each message once", async () => {
    const first = begin(lines(0, 600));
    await until("the first batch is counted", async () => (await counted()) === 500);
    const second = await post(lines(0, 601));
    expect(second).to.deep.include({ status: 200 });
    expect(second.body.data).to.deep.include({ message_count: 601 });
    expect(await counted()).to.equal(601);
    first.write(lines(600, 1));
    expect(await first.end()).to.equal(200);
    expect(await counted()).to.equal(601);
  });

  it("processes equal requests that arrive at the same time, and counts each message once", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(`{}\n${lines(0, 700)}`)));
    for (const answer of answers) expect(answer).to.deep.equal(answers[0]);
    expect(answers[0]?.body.data).to.deep.include({ message_count: 700, rejected_count: 1 });
    expect(await counted()).to.equal(700);
  });

  it("continues at once after a broken connection, and answers for the whole request", async () => {
    const first = begin(`{}\n${lines(0, 800)}`);
    await until("the first batch is counted", async () => (await counted()) === 499);
    first.breakOff();
    const answer = await post(`{}\n${lines(0, 900)}`);
    expect(answer.body.data).to.deep.include({ message_count: 900, rejected_count: 1 });
    expect(await counted()).to.equal(900);
  });

  it("refuses another body under the key of an interrupted request, and stores none of it", async () => {
    const first = begin(lines(0, 800));
    await until("the first batch is counted", async () => (await counted()) === 500);
    first.breakOff();
    expect((await post(lines(1, 800))).status).to.equal(422);
    expect(await counted()).to.equal(500);
  });

  it("does not bring back people erased between an interrupted request and its repeat", async () => {
    const erased = Array.from({ length: 501 }, () => `{"_uid":"${own("erased")}"}\n`).join("");
    const first = begin(erased);
    await until("the first batch is counted", async () => (await counted()) === 500);
    first.breakOff();
    now += 1000;
    const path = `user/_uid/${own("erased")}`;
    expect((await service.fetch(`/api/entity/${path}`, { method: "DELETE" })).status).to.equal(200);
    now += 1000;
    const { history, entities, ledger } = service.service.stores;
    const [{ deletion } = {}] = (await ledger.since(0, 1000)).slice(-1);
    // The work of a worker, which this service does not have.
    await history.erase(deletion?.entities ?? []);
    await entities.erase(deletion?.entities ?? []);
    expect((await post(erased)).body.data).to.deep.include({ message_count: 501 });
    expect((await service.fetch(`/api/entity/${path}`)).status).to.equal(404);
    expect(await counted()).to.equal(500);
  });
});
