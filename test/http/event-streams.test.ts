import { expect } from "chai";
import { MAX_EVENT_NAMES } from "../../src/keys/api-key.js";
import { newKey, startService, type TestService } from "../support/service.js";

interface Profile {
  readonly meta: { readonly streams: readonly string[] };
}

describe("a key whose events have streams of their own", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  const keyWith = async (stream?: string) =>
    (await newKey(service, ["entity:write"], Date.now(), { eventStreams: true, ...(stream ? { stream } : {}) })).key;

  async function send(key: string, calls: readonly object[]): Promise<void> {
    const headers = { authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` };
    const response = await service.fetch("/v1/batch", { method: "POST", json: { batch: calls }, headers });
    expect([response.status, await response.text()]).to.deep.equal([200, '{"success":true}']);
  }

  async function streamsOf(id: string): Promise<readonly string[]> {
    const response = await service.fetch(`/api/entity/user/_uid/${id}`);
    return ((await response.json()) as Profile).meta.streams;
  }

  const calls: [string, object, string][] = [
    ["words", { event: "Order Completed" }, "segment.order_completed"],
    ["allowed characters", { event: "A.b-C_9" }, "segment.a.b-c_9"],
    ["each other character", { event: "a/b: ü€😀\n" }, "segment.a_b______"],
    ["letters whose lower case is in ASCII", { event: "\u212aelvin \u0130x" }, "segment._elvin__x"],
    ["the name of an object's property", { event: "__proto__" }, "segment.__proto__"],
    ["the name of page calls", { event: "Page" }, "segment.page"],
    ["120 characters", { event: "😀".repeat(120) }, `segment.${"_".repeat(120)}`],
    ["121 characters", { event: "x".repeat(121) }, "segment"],
    ["a text of 100,000 characters", { event: "x".repeat(100_000) }, "segment"],
    ["an empty text", { event: "" }, "segment"],
    ["no event", {}, "segment"],
    ["null", { event: null }, "segment"],
    ["a number", { event: 7 }, "segment"],
    ["a list", { event: ["Bought"] }, "segment"],
    ["a page", { type: "page", event: "Bought", name: "Prices" }, "segment.page"],
    ["a screen", { type: "screen" }, "segment.screen"],
    ["an identify", { type: "identify", event: "Bought" }, "segment"],
    ["a group", { type: "group", groupId: "acme", event: "Bought" }, "segment"],
    ["an alias", { type: "alias", userId: "alias-user", event: "Bought" }, "segment"],
  ];
  for (const [index, [title, call, stream]] of calls.entries()) {
    it(`counts ${title} for ${stream.length > 40 ? "a stream of 128 characters" : stream}`, async () => {
      await send(await keyWith(), [{ type: "track", anonymousId: `c-${index}`, ...call }]);
      expect(await streamsOf(`c-${index}`)).to.deep.equal([stream]);
    });
  }

  it("counts for the stream that it is bound to, whose name may leave no room for events", async () => {
    for (const [stream, expected] of [
      ["Web", "Web.bought"],
      ["x".repeat(121), `${"x".repeat(121)}.bought`],
      ["x".repeat(122), "x".repeat(122)],
      ["x".repeat(128), "x".repeat(128)],
    ] as const) {
      await send(await keyWith(stream), [{ type: "track", anonymousId: `b-${stream}`, event: "Bought" }]);
      expect(await streamsOf(`b-${stream}`)).to.deep.equal([expected]);
    }
  });

  it("applies a call with a messageId once, also after its event got no stream", async () => {
    const key = await keyWith("once");
    const call = { type: "track", anonymousId: "once", messageId: "once 1", event: "Bought" };
    for (const event of ["Bought", "", "Sold"]) await send(key, [{ ...call, event }]);
    expect(await streamsOf("once")).to.deep.equal(["once.bought"]);
  });

  it("collects a batch with many events in one commit", async () => {
    const { entities } = service.service.stores;
    const { commit } = entities;
    let commits = 0;
    entities.commit = (...args) => {
      commits += 1;
      return commit.apply(entities, args);
    };
    const key = await keyWith("batch");
    await send(key, [
      { type: "page", anonymousId: "batch" },
      ...Array.from({ length: 100 }, (_, i) => ({ type: "track", anonymousId: "batch", event: `Event ${i % 50}` })),
    ]);
    entities.commit = commit;
    expect(await streamsOf("batch")).to.have.length(51);
    expect(commits).to.equal(1);
  });

  it("has streams for its first 500 events, also after a restart, and counts others for its own stream", async () => {
    const key = await keyWith("many");
    const track = (event: string, anonymousId: string) => ({ type: "track", event, anonymousId });
    await send(key, [
      { type: "page", anonymousId: "m" },
      ...Array.from({ length: MAX_EVENT_NAMES - 2 }, (_, i) => track(`Event ${i}`, "m")),
    ]);
    await send(key, [track("", "m-none"), track("The 500th", "m-500"), track("The 501st", "m-501")]);
    const others = () =>
      send(key, [track("Event 7", "m-7"), track("The 502nd", "m-502"), { type: "screen", anonymousId: "m-screen" }]);
    await others();
    await service.stop({ keep: true });
    service = await startService({}, { dir: service.dir });
    await others();
    expect(await streamsOf("m")).to.have.length(MAX_EVENT_NAMES - 1);
    const people = ["m-none", "m-500", "m-501", "m-7", "m-502", "m-screen"];
    expect(await Promise.all(people.map(streamsOf))).to.deep.equal([
      ["many"],
      ["many.the_500th"],
      ["many"],
      ["many.event_7"],
      ["many"],
      ["many"],
    ]);
    // The names of another key are its own.
    await send(await keyWith("many"), [track("The 501st", "m-other")]);
    expect(await streamsOf("m-other")).to.deep.equal(["many.the_501st"]);
  });
});
