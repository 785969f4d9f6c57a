import { createHash } from "node:crypto";
import { expect } from "chai";
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from "jose";
import { resetSegments } from "../../src/hooks/reset-segments.js";
import { type HookReceiver, type HookRequest, hookReceiver, type Values } from "../support/hook-receiver.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

describe("a hook", function () {
  this.timeout(60_000);
  let receiver: HookReceiver;
  let service: TestService;
  const hook = (more: object = {}) => ({ name: "crm", url: receiver.url, token: "secret", segments: ["*"], ...more });

  beforeEach(async () => {
    receiver = await hookReceiver(membersOf);
  });
  afterEach(async () => {
    await service.stop();
    await receiver.close();
  });

  const start = async (...hooks: ReturnType<typeof hook>[]) => {
    service = await startService({ hooks } as never, { recorderTickMs: 100 });
  };
  const restart = async (...hooks: ReturnType<typeof hook>[]) => {
    const { dir } = service;
    await service.stop({ keep: true });
    service = await startService({ hooks } as never, { dir, recorderTickMs: 100 });
  };
  const collect = async (...messages: object[]) => {
    const response = await service.fetch("/collect/json/web", { method: "POST", json: messages });
    expect((await response.json()) as object).to.nested.include({ "data.rejected_count": 0 });
  };
  const say = (email: string, segments: object, more: object = {}) => collect({ email, segments, ...more });
  async function membersOf(segment: string): Promise<Values[]> {
    const response = await service.fetch(`/api/segment/${segment}/members`, { method: "POST" });
    if (response.status === 404) return [];
    const lines = (await response.text()).trim().split("\n");
    isRead = true;
    await new Promise((resolve) => setTimeout(resolve, readsMs));
    return lines.slice(0, -1).map((line) => JSON.parse(line).identities as Values);
  }
  let isRead = false;
  /** Time between the read of members and the answer to a reset, ms. */
  let readsMs = 0;
  const reset = () => resetSegments(service.service.stores.outbox, "crm", new Set(["vip"]), Date.now());
  const remove = async (email: string) => {
    const response = await service.fetch(`/api/entity/user/email/${email}`, { method: "DELETE" });
    return ((await response.json()) as { data: { request_id: string } }).data.request_id;
  };
  const status = async () => {
    const { data } = (await (await service.fetch("/api/hook")).json()) as { data: Record<string, unknown>[] };
    return data;
  };
  const isTold = () => until("the hook is told", async () => (await status()).every(({ waiting }) => waiting === 0));
  const isCompleted = (requestId: string) =>
    until("the deletion is completed", async () => {
      const response = await service.fetch(`/api/entity/deletestatus/${requestId}`);
      return ((await response.json()) as { data: { completed: boolean } }).data.completed;
    });

  it("receives who joined and left, with identities and the wanted attributes, in a signed request", async () => {
    await start(hook({ fields: ["plan"] }));
    await say("ann@example.org", { add: ["vip"], remove: [] }, { plan: "pro", city: "Ulm", user_id: "7" });
    await isTold();
    await say("ann@example.org", { add: [], remove: ["vip"] });
    await isTold();
    const [joined, left] = receiver.requests as [HookRequest, HookRequest];
    expect(joined.authorization).to.equal("Bearer secret");
    const { id, hook: name, sent_at, events } = joined.body;
    expect(events[0]).to.deep.include({
      ...{ segment: "vip", change: "joined", table: "user", attributes: { plan: "pro" } },
      identities: { email: ["ann@example.org"], user_id: ["7"] },
    });
    expect(left.body.events[0]).to.deep.include({ segment: "vip", change: "left" });
    const keys = (await (await service.fetch("/.well-known/jwks.json")).json()) as JSONWebKeySet;
    const { payload } = await compactVerify(joined.signature, createLocalJWKSet(keys));
    const sha256 = createHash("sha256").update(joined.text).digest("hex");
    expect(JSON.parse(Buffer.from(payload).toString())).to.deep.equal({ hook: name, id, sent_at, sha256 });
    expect(await status()).to.have.length(1);
    expect((await status())[0]).to.deep.include({ name: "crm", waiting: 0, lag_seconds: 0, problem: null });
  });

  it("receives nothing about a person who joined and left while it was unreachable before any request began", async () => {
    await start(hook());
    receiver.trouble = "refuses";
    await say("ann@example.org", { add: ["vip"], remove: [] });
    await until("a request failed", () => receiver.requests.length > 0);
    await say("ben@example.org", { add: ["vip"], remove: [] });
    await say("ben@example.org", { add: [], remove: ["vip"] });
    await say("ann@example.org", { add: [], remove: ["vip"] });
    receiver.trouble = undefined;
    await isTold();
    expect(receiver.changesOf("ben@example.org")).to.deep.equal([]);
    expect(receiver.changesOf("ann@example.org").filter((change) => change === "left vip")).to.have.length(1);
    expect(receiver.changesOf("ann@example.org").slice(-2)).to.deep.equal(["joined vip", "left vip"]);
  });

  it("receives one joined of the profile that stays after a merge", async () => {
    await start(hook());
    await say("ann@example.org", { add: ["vip"], remove: [] });
    await collect({ user_id: "7", segments: { add: ["vip"], remove: [] } });
    await isTold();
    expect(receiver.members("vip")).to.have.length(2);
    await collect({ user_id: "7", email: "ann@example.org" });
    await isTold();
    expect(receiver.members("vip")).to.deep.equal([["email:ann@example.org", "user_id:7"]]);
    await say("ann@example.org", { add: [], remove: ["vip"] });
    await isTold();
    expect(receiver.members("vip")).to.deep.equal([]);
  });

  it("receives one deleted for a deleted segment, and the people who join it later", async () => {
    await start(hook());
    await say("ann@example.org", { add: ["vip"], remove: [] });
    await isTold();
    receiver.trouble = "hangs";
    await say("ben@example.org", { add: ["vip"], remove: [] });
    await until("a request hangs", () => receiver.changesOf("ben@example.org").length > 0);
    await service.fetch("/api/segment/vip", { method: "DELETE" });
    await say("cid@example.org", { add: ["vip"], remove: [] });
    receiver.trouble = undefined;
    await isTold();
    expect(receiver.members("vip")).to.deep.equal([["email:cid@example.org"]]);
    expect(receiver.events().filter(({ change }) => change === "left")).to.deep.equal([]);
    expect(receiver.events().filter(({ change }) => change === "deleted")).to.have.length(1);
  });

  it("that is new receives changes only, or first each member with from: members", async () => {
    await start();
    await say("ann@example.org", { add: ["vip", "other"], remove: [] });
    await say("ben@example.org", { add: ["vip"], remove: [] });
    await restart(hook(), hook({ name: "ads", from: "members", segments: ["vip"] }));
    await say("ben@example.org", { add: [], remove: ["vip"] });
    await say("cid@example.org", { add: ["vip"], remove: [] });
    await isTold();
    await until("every member was sent", () => receiver.changesOf("ann@example.org").length > 0);
    await isTold();
    const told = (name: string) =>
      receiver.requests.filter(({ body }) => body.hook === name).flatMap(({ body }) => body.events);
    const of = (name: string) =>
      told(name)
        .map(({ change, segment, identities }) => `${change} ${segment} ${identities?.email}`)
        .sort();
    expect(of("crm")).to.deep.equal(["joined vip cid@example.org", "left vip ben@example.org"]);
    const inAds = of("ads").filter((line) => !line.includes("ben"));
    expect(inAds).to.deep.equal(["joined vip ann@example.org", "joined vip cid@example.org"]);
  });

  it("receives one left of an erased person, and the receipt names it with the time of its 2xx", async () => {
    await start(hook({ segments: ["vip", "new"] }));
    await say("ann@example.org", { add: ["vip", "other"], remove: [] });
    await isTold();
    receiver.trouble = "refuses";
    await say("ben@example.org", { add: ["new"], remove: [] });
    await until("a request failed", () => receiver.requests.length > 1);
    await say("ann@example.org", { add: ["new"], remove: [] });
    const answered = await remove("ann@example.org");
    const at = performance.now();
    receiver.trouble = undefined;
    await isCompleted(answered);
    const later = receiver.requests.filter(({ began }) => began > at).flatMap(({ body }) => body.events);
    const ofAnn = later.filter(({ identities }) => identities?.email?.includes("ann@example.org"));
    expect(ofAnn.map(({ change, segment }) => `${change} ${segment}`)).to.deep.equal(["left vip"]);
    const receipt = await (await service.fetch(`/api/deletion/${answered}/receipt`)).text();
    const claims = JSON.parse(Buffer.from(receipt.split(".")[1] ?? "", "base64url").toString());
    expect(claims.targets.map(({ name }: { name: string }) => name)).to.include("crm");
  });

  it("receives a person who comes back after the left of the deletion", async () => {
    await start(hook());
    await say("ann@example.org", { add: ["vip"], remove: [] });
    await isTold();
    receiver.trouble = "hangs";
    await say("ann@example.org", { add: ["club"], remove: [] });
    await until("a request hangs", () => receiver.requests.length > 1);
    const answered = await remove("ann@example.org");
    await say("ann@example.org", { add: ["vip"], remove: [] });
    receiver.trouble = undefined;
    await isCompleted(answered);
    await isTold();
    expect(receiver.members("vip")).to.deep.equal([["email:ann@example.org"]]);
    expect(receiver.members("club")).to.deep.equal([]);
    expect(receiver.changesOf("ann@example.org").at(-1)).to.equal("joined vip");
  });

  it("receives a person again whom it read after a reset and before it took the left of the deletion", async () => {
    await start(hook());
    await say("ann@example.org", { add: ["vip"], remove: [] });
    await isTold();
    receiver.trouble = "takes and refuses";
    const answered = await remove("ann@example.org");
    await until("the left arrives", () => receiver.changesOf("ann@example.org").includes("left vip"));
    await say("ann@example.org", { add: ["vip"], remove: [] });
    await reset();
    receiver.trouble = undefined;
    await isCompleted(answered);
    await isTold();
    expect(receiver.members("vip")).to.deep.equal([["email:ann@example.org"]]);
  });

  it("that is unreachable delays no deletion of someone without a profile", async () => {
    await start(hook());
    receiver.trouble = "refuses";
    await reset();
    await isCompleted(await remove("nobody@example.org"));
    expect((await status())[0]).to.deep.include({ waiting: 1 });
  });

  it("receives at most four requests at once, also while people are erased", async () => {
    await start(hook());
    const emails = Array.from({ length: 8 }, (_, n) => `p${n}@example.org`);
    await Promise.all(emails.map((email) => say(email, { add: ["vip"], remove: [] })));
    await isTold();
    receiver.delayMs = 300;
    const answered = await Promise.all(emails.map(remove));
    for (const requestId of answered) await isCompleted(requestId);
    expect(Math.max(...receiver.requests.map(({ concurrent }) => concurrent))).to.be.at.most(4);
  });

  it("knows no erased person whose left a reset has replaced once the deletion is completed", async () => {
    await start(hook());
    await say("ann@example.org", { add: ["vip"], remove: [] });
    await isTold();
    receiver.trouble = "refuses";
    await say("ann@example.org", { add: [], remove: ["vip"] });
    await reset();
    const answered = await remove("ann@example.org");
    receiver.trouble = undefined;
    await isCompleted(answered);
    expect(receiver.members("vip")).to.deep.equal([]);
  });

  /** Resolves when the hook has read a joined person after a reset that it has not answered yet. */
  const resetReads = async (email: string) => {
    await say("ben@example.org", { add: ["vip"], remove: [] });
    await isTold();
    receiver.delayMs = 500;
    readsMs = 1_000;
    isRead = false;
    await reset();
    await until("the reset is in flight", () => receiver.events().some(({ change }) => change === "reset"));
    await say(email, { add: ["vip"], remove: [] });
    await until("the hook has read", () => isRead);
    receiver.delayMs = 0;
    readsMs = 0;
  };

  it("receives left of someone whom it read after a reset, though the joined was in no request", async () => {
    await start(hook());
    await resetReads("ann@example.org");
    await say("ann@example.org", { add: [], remove: ["vip"] });
    await isTold();
    expect(receiver.members("vip")).to.deep.equal([["email:ben@example.org"]]);
  });

  it("receives left of an erased person whom it read after a reset, and not before it has answered the reset", async () => {
    await start(hook());
    await resetReads("ann@example.org");
    await isCompleted(await remove("ann@example.org"));
    await isTold();
    expect(receiver.members("vip")).to.deep.equal([["email:ben@example.org"]]);
  });
});
