import { expect } from "chai";
import { compactVerify, createLocalJWKSet } from "jose";
import { StartError } from "../../src/errors.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { type Received, type WebhookReceiver, webhookReceiver } from "../support/webhook-receiver.js";

const HOUR = 3_600_000;
const start = Date.UTC(2026, 2, 1);

interface Fired {
  readonly dimension_id: string;
  readonly since: string;
}

describe("GET /api/alert, and the notifications of alerts", function () {
  this.timeout(60_000);
  let receiver: WebhookReceiver;
  let service: TestService | undefined;
  let now = start + HOUR + 61_000;
  const rule = { name: "few orders", series: "stream.orders.size", condition: "below", value: 5, over: "1h" };

  before(async () => {
    receiver = await webhookReceiver();
  });
  after(() => receiver.close());

  /** Starts the service on the data of the one before. */
  async function restart(alerts: readonly object[] = [rule]): Promise<TestService> {
    await service?.stop({ keep: true });
    const settings = {
      alerts,
      webhook: { url: receiver.url, token: "secret" },
    };
    const dir = service === undefined ? {} : { dir: service.dir };
    service = await startService(settings as never, { clock: () => now, recorderTickMs: 10, ...dir });
    return service;
  }
  const write = async (at: TestService, ts: number, value: number) => {
    const point = { dimension: "stream", dimension_id: "orders", dimension_type: "size", ts, value };
    expect((await at.fetch("/api/metric/points", { method: "POST", json: [point] })).status).to.equal(200);
  };
  const listed = async (at: TestService, query = "") =>
    (await (await at.fetch(`/api/alert${query}`)).json()) as { data: object[]; meta: object };
  /** Advances the clock by a second with each look, so that leases and waits end. */
  const passing = (what: string, isDone: () => boolean | Promise<boolean>) =>
    until(what, () => {
      now += 1_000;
      return isDone();
    });
  const notified = (count: number) => passing(`${count} notifications arrive`, () => receiver.received.length >= count);

  it("are an empty list and no call without rules", async () => {
    const at = await restart([]);
    await write(at, start, 3);
    expect(await listed(at)).to.deep.include({ data: [], meta: { next: null, total: 0 } });
  });

  it("have the rule, the series and since when, with a signature, and the same id after a restart", async () => {
    receiver.failure = "answers 500";
    await restart();
    await notified(1);
    const [first] = receiver.received;
    const { receipt, ...claims } = (first as Received).body as unknown as Record<string, unknown>;
    const { type, state, resolved_at, ...alert } = claims;
    expect(alert).to.deep.equal({
      id: alert.id,
      name: "few orders",
      dimension: "stream",
      dimension_id: "orders",
      dimension_type: "size",
      condition: "below",
      value: 5,
      over: "1h",
      since: "2026-03-01T01:00:00.000Z",
      measured: 3,
    });
    expect(alert.id).to.match(/^1772326800-[0-9a-f]{20}$/);
    expect({ type, state, resolved_at }).to.deep.equal({ type: "alert", state: "firing", resolved_at: null });
    expect(first).to.include({ method: "POST", path: "/hooks/deleted?of=people", authorization: "Bearer secret" });

    const at = await restart();
    const jwks = await (await at.fetch("/.well-known/jwks.json")).json();
    const { payload } = await compactVerify(receipt as string, createLocalJWKSet(jwks as never));
    expect(JSON.parse(Buffer.from(payload).toString())).to.deep.include(claims);
    expect(await listed(at)).to.deep.include({
      data: [{ ...alert, dimension_name: null, resolved_at: null, notified: false }],
      meta: { next: null, total: 1 },
    });
    receiver.failure = undefined;
    await notified(receiver.received.length + 1);
    expect(receiver.received.map(({ body }) => ({ ...body, receipt }))).to.deep.equal(
      receiver.received.map(() => ({ ...claims, receipt })),
    );
    await until("it is stored", async () => (await listed(at)).data.some((one) => "notified" in one && one.notified));
  });

  it("end once, with the slot in which the condition no longer holds", async () => {
    const at = await restart();
    const sent = receiver.received.length;
    const slot = Math.floor(now / HOUR) * HOUR;
    await write(at, slot, 5);
    now = slot + HOUR + 61_000;
    await notified(sent + 1);
    const { body } = receiver.received.at(-1) as Received;
    const resolved_at = new Date(slot + HOUR).toISOString();
    expect(body).to.include({ ...receiver.received[0]?.body, receipt: body.receipt, state: "resolved", resolved_at });
    expect(await listed(at)).to.deep.include({ data: [], meta: { next: null, total: 0 } });
    const { type, state, receipt, ...alert } = body as unknown as Record<string, unknown>;
    const ended = async (at: TestService) => (await listed(at, "?state=ended")).data;
    await until("it is stored", async () => (await ended(at)).some((one) => "notified" in one && one.notified));
    const after = await restart();
    expect(await ended(after)).to.deep.equal([{ ...alert, dimension_name: null, notified: true }]);
    now += 30 * 24 * HOUR;
    expect(await ended(after)).to.deep.equal([]);
    expect((await after.fetch("/api/alert?state=open")).status).to.equal(400);
  });

  it("name segments and experiences as the catalogue does", async () => {
    const at = await restart([{ name: "any", dimension: "segment", pattern: "*", condition: "above", value: 0 }]);
    await at.fetch("/api/segment/named", { method: "PUT", json: { name: "The named" } });
    const slot = Math.floor(now / (2 * HOUR)) * 2 * HOUR;
    const points = ["named", "other"].map((dimension_id) => ({
      dimension: "segment",
      dimension_id,
      dimension_type: "size",
      ts: slot,
      value: 3,
    }));
    expect((await at.fetch("/api/metric/points", { method: "POST", json: points })).status).to.equal(200);
    now = slot + 2 * HOUR + 61_000;
    const names = async () =>
      (await listed(at)).data.map((one) => (one as { dimension_name: string | null }).dimension_name).sort();
    await passing("both fire", async () => (await names()).length === 2);
    expect(await names()).to.deep.equal(["The named", null]);
  });

  it("are listed in pages, the oldest first, each alert once", async () => {
    const at = await restart([{ name: "any", dimension: "stream", pattern: "paged-*", condition: "above", value: 0 }]);
    const firstSlot = Math.floor(now / HOUR) * HOUR;
    for (const [ids, slot] of [
      ["dc", firstSlot],
      ["bea", firstSlot + HOUR],
    ] as const) {
      const points = [..."abcde"].map((id) => ({
        dimension: "stream",
        dimension_id: `paged-${id}`,
        dimension_type: "size",
        ts: slot,
        value: ids.includes(id) || slot > firstSlot ? 1 : 0,
      }));
      expect((await at.fetch("/api/metric/points", { method: "POST", json: points })).status).to.equal(200);
      now = slot + HOUR + 61_000;
      const total = slot === firstSlot ? 2 : 5;
      const isPaged = ({ dimension_id }: Fired) => dimension_id.startsWith("paged-");
      const firing = async () => ((await listed(at)).data as Fired[]).filter(isPaged);
      await passing(`${total} alerts fire`, async () => (await firing()).length === total);
    }
    const pages: Fired[][] = [];
    for (let after: string | null = ""; after !== null && pages.length < 9; ) {
      const { data, meta } = await listed(at, `?limit=2${after && `&after=${after}`}`);
      pages.push(data as Fired[]);
      after = (meta as { next: string | null }).next;
    }
    expect(pages.map(({ length }) => length)).to.deep.equal([2, 2, 1]);
    const walked = pages.flat();
    expect(walked.map(({ since }) => since)).to.deep.equal(walked.map(({ since }) => since).sort());
    const ids = walked.map(({ dimension_id }) => dimension_id).sort();
    expect(ids).to.deep.equal([..."abcde"].map((id) => `paged-${id}`));
  });

  it("end the start with the name of a wrong rule", async () => {
    const error = await startService({ alerts: [{ ...rule, over: "90m" }] } as never).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error).to.be.instanceOf(StartError).with.property("message").that.contains('the rule "few orders"');
  });
});
