import { expect } from "chai";
import { storesOnServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** Two processes over the same stores; embedded, one whose clock is set between its requests. */
type Side = "right" | "wrong";

describe("P35: the order of requests decides, whatever the clocks of processes show", () => {
  let skewMs = 0;
  let embeddedMs = 0;
  let right: TestService;
  let wrong: TestService;
  let serial = 0;

  before(async () => {
    if (!storesOnServers) {
      right = await startService({}, { clock: () => Date.now() + embeddedMs });
      wrong = right;
      return;
    }
    right = await startService();
    // Both clocks are equal at the start: a difference that the service knows of is corrected.
    wrong = await startService({ roles: ["api"] }, { dir: right.dir, machine: () => Date.now() + skewMs });
  });
  after(async () => {
    if (storesOnServers) await wrong.stop({ keep: true });
    await right.stop();
  });

  const at = (side: Side): TestService => {
    embeddedMs = side === "wrong" ? skewMs : 0;
    return side === "wrong" ? wrong : right;
  };
  const collect = async (side: Side, json: object, headers: Record<string, string> = {}) => {
    const answer = await at(side).fetch("/collect/json/web?timestamp_field=at", { method: "POST", json, headers });
    expect(answer.status, await answer.clone().text()).to.equal(200);
  };
  const remove = async (side: Side, path: string) => {
    expect((await at(side).fetch(path, { method: "DELETE" })).status).to.equal(200);
  };
  const dataOf = async (side: Side, path: string) => {
    const answer = await at(side).fetch(path);
    return answer.status === 200 ? ((await answer.json()) as { data: Record<string, unknown> }).data : undefined;
  };
  const newName = () => `n${++serial}`;
  const pathOf = (name: string) => `/api/entity/user/email/${name}@example.org`;
  const person = (name: string) => ({ email: `${name}@example.org` });
  const sizeOf = async (side: Side, segment: string) => (await dataOf(side, `/api/segment/${segment}`))?.size;

  for (const [skew, first, second] of [
    ...[-10 * MINUTE_MS, -10 * SECOND_MS, -900, 900, 10 * SECOND_MS, 10 * MINUTE_MS].map(
      (skew) => [skew, "right", "wrong"] as const,
    ),
    ...[-10 * MINUTE_MS, 10 * MINUTE_MS].map((skew) => [skew, "wrong", "right"] as const),
  ]) {
    describe(`the wrong clock is ${skew} ms ahead, and the ${first} process is used first`, () => {
      before(() => {
        skewMs = skew;
      });

      it("a message without an event time after a DELETE builds a new profile, and the earlier one is erased", async () => {
        for (const [taking, deleting, again] of [
          [first, second, first],
          [first, first, second],
          [first, second, second],
        ] as const) {
          const name = newName();
          await collect(taking, { ...person(name), plan: "gold", city: "Oslo" });
          await remove(deleting, pathOf(name));
          expect(await dataOf(again, pathOf(name))).to.equal(undefined);
          await collect(again, { ...person(name), plan: "silver" });
          expect(await dataOf(deleting, pathOf(name))).to.deep.equal({
            ...person(name),
            plan: "silver",
            segments: [],
          });
        }
      });

      it("a membership update after the DELETE of its segment is valid, and earlier ones are void", async () => {
        for (const early of [{ add: ["S"] }, ["S"], { remove: ["S"] }, []]) {
          const [name, other, segment] = [newName(), newName(), newName()];
          const named = (list: readonly string[] | undefined) => list?.map(() => segment);
          const update = Array.isArray(early) ? named(early) : { add: named(early.add), remove: named(early.remove) };
          await collect(first, { ...person(name), segments: update });
          await collect(first, { ...person(other), segments: [segment] });
          await remove(second, `/api/segment/${segment}`);
          expect(await sizeOf(first, segment)).to.equal(undefined);
          await collect(second, { ...person(name), segments: { add: [segment] } });
          expect(await sizeOf(second, segment)).to.equal(1);
          expect((await dataOf(first, pathOf(name)))?.segments).to.deep.equal([segment]);
          expect((await dataOf(first, pathOf(other)))?.segments).to.deep.equal([]);
          await collect(first, { ...person(other), segments: { add: [segment] } });
          expect(await sizeOf(first, segment)).to.equal(2);
        }
      });

      it("a repeated request stores only data that was not erased after its first arrival", async () => {
        const [gone, stays, key] = [newName(), newName(), newName()];
        await collect(first, { ...person(stays), city: "Oslo" });
        await remove(second, pathOf(stays));
        const lines = [person(gone), ...Array.from({ length: 600 }, () => ({ ...person(stays), plan: "gold" }))];
        const whole = lines.map((line) => `${JSON.stringify(line)}\n`);
        const abandoned = new AbortController();
        const path = "/collect/json/web";
        const headers = {
          authorization: right.key,
          "content-type": "application/x-ndjson",
          "idempotency-key": key,
        };
        const body = new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(whole.slice(0, 560).join(""))),
        });
        const sent = fetch(`${at(first).url}${path}`, {
          method: "POST",
          headers,
          body,
          duplex: "half",
          signal: abandoned.signal,
        } as RequestInit).catch(() => {});
        await until("the first batch is stored", async () => (await dataOf(first, pathOf(gone))) !== undefined);
        abandoned.abort();
        await sent;
        await remove(second, pathOf(gone));
        const repeated = await at(second).fetch(path, { method: "POST", headers, body: whole.join("") });
        expect(repeated.status, await repeated.clone().text()).to.equal(200);
        expect(await dataOf(second, pathOf(gone))).to.equal(undefined);
        expect((await dataOf(second, pathOf(stays)))?.plan).to.equal("gold");
      });
    });
  }
});
