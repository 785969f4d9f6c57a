import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, createServer as createHttps } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { systemClock } from "../../src/clock.js";
import { TargetError } from "../../src/deletions/ports.js";
import { type HookEvent, hookCalls } from "../../src/deletions/targets/hook.js";
import type { Hook } from "../../src/entities/outbox.js";
import { noFailpoint } from "../../src/failpoint.js";
import { hookSender } from "../../src/hooks/sender.js";
import { openLog } from "../../src/log.js";
import { MemoryBudget } from "../../src/memory-budget.js";
import type { Stores } from "../../src/stores/stores.js";
import { makeCertificates } from "../servers/secured/certificates.js";
import { dataFolder } from "../support/data-folder.js";
import { shippedTables } from "../support/entity-stage.js";
import { hookReceiver } from "../support/hook-receiver.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

describe("the sender of a hook", function () {
  this.timeout(120_000);
  const hook: Hook = { name: "crm", url: "https://crm.example", token: "t", segments: ["*"] };
  let service: TestService;
  let senders: ReturnType<typeof hookSender>[];

  beforeEach(async () => {
    senders = [];
    // Without the role of a worker the service sends nothing itself.
    service = await startService({ hooks: [hook], roles: ["api"] } as never);
  });
  afterEach(async () => {
    for (const sender of senders) await sender.stop();
    await service.stop();
  });

  const collect = async (messages: readonly object[]) => {
    const response = await service.fetch("/collect/json/web", { method: "POST", json: messages });
    expect(response.status).to.equal(200);
  };
  const joining = (from: number, to: number, segment = "vip") =>
    Array.from({ length: to - from }, (_, n) => ({
      user_id: `u${from + n}`,
      segments: { add: [segment], remove: [] },
    }));
  const emailsOf = (events: readonly HookEvent[]) => events.map(({ identities }) => identities?.user_id?.[0] as string);

  function start(
    send: (events: readonly HookEvent[]) => Promise<void>,
    more: Partial<Parameters<typeof hookSender>[0]> = {},
  ) {
    let leases = 0;
    const sender = hookSender({
      ...(service.service.stores as Stores),
      ...{
        hooks: [hook],
        clock: systemClock,
        tables: shippedTables,
        memory: new MemoryBudget(1e9),
        log: openLog("silent"),
      },
      calls: new Map([["crm", async (claim: () => Promise<readonly HookEvent[]>) => send(await claim())]]),
      lease: async () => (++leases === 1 ? "taken" : "renewed"),
      ...{ damaged: () => {}, failpoint: noFailpoint },
      ...more,
    });
    senders.push(sender);
    sender.start();
  }
  const isTold = () =>
    until("the outbox is empty", async () => (await service.service.stores.outbox.count("crm")).waiting === 0, 60_000);

  it("sends at most 500 events a request, the oldest first, in at most four requests at once", async () => {
    for (let from = 0; from < 4_000; from += 1_000) await collect(joining(from, from + 1_000));
    const sent: string[][] = [];
    let now = 0;
    let most = 0;
    start(async (events) => {
      now += 1;
      most = Math.max(most, now);
      sent.push(emailsOf(events));
      await until("four requests are in flight", () => most >= 4, 30_000);
      await new Promise((resolve) => setTimeout(resolve, 300));
      now -= 1;
    });
    await isTold();
    expect(most).to.equal(4);
    expect(Math.max(...sent.map(({ length }) => length))).to.be.within(100, 500);
    expect(new Set(sent[0]).has("u0") || new Set(sent[0]).has("u1")).to.equal(true);
    const all = sent.flat();
    expect([all.length, new Set(all).size]).to.deep.equal([4_000, 4_000]);
    expect(sent[0]?.every((user) => Number(user.slice(1)) < 1_000)).to.equal(true);
  });

  it("tells the hook to read members again when too much waits, and the changes after that", async () => {
    let isAway = true;
    const events: HookEvent[] = [];
    start(
      async (some) => {
        if (isAway) throw new TargetError("crm", "is unreachable");
        events.push(...some);
      },
      { maxRows: 50 },
    );
    await collect([...joining(0, 60), ...joining(60, 70, "other")]);
    const { outbox } = service.service.stores;
    await until("the oldest changes are replaced", async () => (await outbox.count("crm")).waiting <= 50, 30_000);
    isAway = false;
    await collect(joining(70, 71));
    await isTold();
    const told = events.map(({ change, segment }) => `${change} ${segment}`);
    expect(told.filter((line) => line === "reset vip")).to.have.length(1);
    expect(told.indexOf("joined vip")).to.be.above(told.indexOf("reset vip"));
    expect(emailsOf(events)).to.include("u70");
  });

  it("repeats the requests of the sender before also when the store fails as it takes the lease", async () => {
    await collect(joining(0, 3));
    const { outbox } = service.service.stores;
    await outbox.claim((await outbox.page("crm", undefined, 3)).map(({ id }) => id));
    let failures = 1;
    const release = async (ids?: readonly string[]) => {
      if (failures-- > 0) throw new Error("the store is away");
      await outbox.release(ids);
    };
    const sent: string[] = [];
    start(async (events) => void sent.push(...emailsOf(events)), { outbox: { ...outbox, release } });
    await isTold();
    expect(sent.sort()).to.deep.equal(["u0", "u1", "u2"]);
  });

  it("sends changes whose claim failed, though it is stored", async () => {
    await collect(joining(0, 3));
    const { outbox } = service.service.stores;
    let failures = 1;
    const claim = async (ids: readonly string[]) => {
      const claimed = await outbox.claim(ids);
      if (failures-- > 0) throw new Error("the store did not answer");
      return claimed;
    };
    const sent: string[] = [];
    start(async (events) => void sent.push(...emailsOf(events)), { outbox: { ...outbox, claim } });
    await isTold();
    expect(sent.sort()).to.deep.equal(["u0", "u1", "u2"]);
  });

  it("sends changes also if each write of the store takes a second", async () => {
    await collect(joining(0, 3));
    const { outbox } = service.service.stores;
    const claim = async (ids: readonly string[]) => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return outbox.claim(ids);
    };
    const receiver = await hookReceiver();
    const send = hookCalls({ ...hook, url: receiver.url }, { clock: systemClock, sign: async () => "" });
    start(async () => {}, { outbox: { ...outbox, claim }, calls: new Map([["crm", send]]) });
    await isTold();
    await receiver.close();
    expect(emailsOf(receiver.events()).sort()).to.deep.equal(["u0", "u1", "u2"]);
  });

  it("begins no request with a person after the DELETE is answered, however late its signature is", async () => {
    await collect(joining(0, 1));
    const receiver = await hookReceiver();
    let isSigning = false;
    const send = hookCalls(
      { ...hook, url: receiver.url },
      {
        clock: systemClock,
        async sign() {
          isSigning = true;
          await new Promise((resolve) => setTimeout(resolve, 2_500));
          return "";
        },
      },
    );
    start(async () => {}, { calls: new Map([["crm", send]]) });
    await until("the request is signed", () => isSigning);
    await service.fetch("/api/entity/user/user_id/u0", { method: "DELETE" });
    const answered = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await receiver.close();
    expect(receiver.requests.filter(({ began }) => began > answered)).to.deep.equal([]);
  });

  it("sends nothing of a person who is deleted while the connection to the hook is opened", async () => {
    await collect(joining(0, 2));
    const { authority, certificate, key } = makeCertificates(dataFolder());
    const trusted = { cert: readFileSync(certificate), key: readFileSync(key) };
    const agent = new Agent({ ca: readFileSync(authority, "utf8") });
    let received = "";
    const receiver = createHttps(trusted, async (request, response) => {
      received += await text(request);
      response.writeHead(204).end();
    });
    const port = await listening(receiver);
    let isConnected = false;
    // Longer than an acceptance waits for a request that begins.
    const slow = createServer((socket) => {
      isConnected = true;
      setTimeout(() => socket.pipe(connect(port, "127.0.0.1")).pipe(socket), 3_000);
    });
    const url = `https://127.0.0.1:${await listening(slow)}`;
    start(async () => {}, {
      calls: new Map([["crm", hookCalls({ ...hook, url }, { clock: systemClock, sign: async () => "", agent })]]),
    });
    await until("the sender has connected", () => isConnected);
    await service.fetch("/api/entity/user/user_id/u0", { method: "DELETE" });
    await isTold();
    expect([received.includes('"u0"'), received.includes('"u1"')]).to.deep.equal([false, true]);
    for (const server of [slow, receiver]) server.close();
  });

  it("sends no joined of members of a segment that is deleted while it reads them", async () => {
    await collect(joining(0, 3));
    const { outbox, memberships } = service.service.stores;
    await outbox.keepOnly([]);
    const events: HookEvent[] = [];
    start(async (some) => void events.push(...some), {
      hooks: [{ ...hook, from: "members" }],
      memberships: {
        async members(...of: Parameters<typeof memberships.members>) {
          const members = await memberships.members(...of);
          await service.fetch("/api/segment/vip", { method: "DELETE" });
          return members;
        },
      },
    });
    await until("the hook is told", () => events.length > 0);
    await isTold();
    expect(events.map(({ change }) => change)).to.deep.equal(["deleted"]);
  });

  it("sends no joined of the members that a reset makes the hook read", async () => {
    await collect([...joining(0, 3), ...joining(3, 5, "other")]);
    const { outbox } = service.service.stores;
    await outbox.keepOnly([]);
    await outbox.reset("crm", ["vip"], 1);
    const events: HookEvent[] = [];
    start(async (some) => void events.push(...some), { hooks: [{ ...hook, from: "members" }] });
    await until("the hook is told", () => events.length > 0);
    await isTold();
    const told = events.map(({ change, segment }) => `${change} ${segment}`);
    expect(told).to.deep.equal(["reset vip", "joined other", "joined other"]);
  });

  it("sends nothing of a segment that the hook no longer has", async () => {
    await collect([...joining(0, 3), ...joining(3, 5, "other")]);
    const events: HookEvent[] = [];
    start(async (some) => void events.push(...some), { hooks: [{ ...hook, segments: ["other"] }] });
    await isTold();
    expect(events.map(({ segment }) => segment)).to.deep.equal(["other", "other"]);
  });

  it("sends nothing while another sender has the lease, and repeats its requests when that ends", async () => {
    await collect(joining(0, 3));
    const { outbox } = service.service.stores;
    const [first] = await outbox.page("crm", undefined, 1);
    await outbox.claim([first?.id as string]);
    let answer: "refused" | "taken" | "renewed" = "refused";
    const sent: string[] = [];
    start(async (events) => void sent.push(...emailsOf(events)), {
      async lease() {
        const given = answer;
        if (answer === "taken") answer = "renewed";
        return given;
      },
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(sent).to.deep.equal([]);
    answer = "taken";
    await isTold();
    expect(sent.sort()).to.deep.equal(["u0", "u1", "u2"]);
  });
});

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
