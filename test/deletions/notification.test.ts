import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { expect } from "chai";
import { systemClock } from "../../src/clock.js";
import { LEASE_MS, NOTIFICATION } from "../../src/deletions/deletion.js";
import { type DownstreamTarget, TargetError, type Webhook } from "../../src/deletions/ports.js";
import { webhookAt } from "../../src/deletions/webhook.js";
import { StartError } from "../../src/errors.js";
import { makeCertificates } from "../servers/secured/certificates.js";
import { dataFolder } from "../support/data-folder.js";
import { until } from "../support/until.js";
import { type WebhookReceiver, webhookReceiver } from "../support/webhook-receiver.js";
import { type ErasureStage, erasureStage, runDue, type StageOptions } from "./erasure-stage.js";

const ann = { field: "email", value: "ann@example.org" };
const MINUTE_MS = 60_000;

describe("P31: the notification of a completed deletion", () => {
  let receiver: WebhookReceiver;
  let stage: ErasureStage;
  let time = 1_800_000_000_000;

  beforeEach(async () => {
    receiver = await webhookReceiver();
  });

  const sign = async (claims: object) => `receipt of ${(claims as { request_id: string }).request_id}`;
  const webhook = (url = receiver.url): Webhook => webhookAt({ url, token: "secret" }, { sign });

  async function open(options: StageOptions = {}): Promise<ErasureStage> {
    stage = await erasureStage({ clock: () => time, webhook: webhook(), ...options });
    return stage;
  }

  const found = async (requestId: string) => {
    const deletion = await stage.stores.ledger.find(requestId);
    if (deletion === undefined) throw new Error("There is no such request");
    return deletion;
  };
  const pending = () => stage.stores.ledger.count("completed", NOTIFICATION);
  const poll = () => runDue(stage.stores.ledger, stage.deletions, () => time, [NOTIFICATION]);

  it("is sent once, with the request id, the time, the receipt and the token, and nothing else", async () => {
    const { deletions } = await open();
    const requestId = await deletions.accept("user", ann);
    await deletions.run(requestId);
    const body = {
      request_id: requestId,
      completed_at: new Date(time).toISOString(),
      receipt: `receipt of ${requestId}`,
    };
    expect(receiver.received).to.deep.equal([
      {
        method: "POST",
        path: "/hooks/deleted?of=people",
        authorization: "Bearer secret",
        contentType: "application/json",
        body,
      },
    ]);
    expect(await pending()).to.equal(0);
    for (let turn = 0; turn < 3; turn += 1) {
      time += 20 * MINUTE_MS;
      await poll();
      await deletions.run(requestId);
    }
    expect(receiver.received).to.have.length(1);
  });

  /** Answers whose status means that the notification is received. */
  const received = [
    "answers 200 with a long text",
    "answers 200 and never ends the answer",
    "closes the connection in the middle of the answer",
  ];

  it("is delivered to a receiver that answers 500 for an hour, and delays no completion", async () => {
    await open();
    receiver.failure = "answers 500";
    const requestId = await stage.deletions.accept("user", ann);
    const acceptedAt = time;
    await stage.deletions.run(requestId);
    const waiting = { completedAt: acceptedAt, problem: "webhook answered 500" };
    expect(await found(requestId)).to.include({ ...waiting, attempts: 1 });
    expect(await stage.stores.ledger.count("open")).to.equal(0);
    let last = 0;
    for (let attempts = 1; time < acceptedAt + 60 * MINUTE_MS; ) {
      const { notBefore } = await found(requestId);
      expect(notBefore - time).to.be.within(last, 15 * MINUTE_MS);
      last = notBefore - time;
      time = notBefore - 1;
      await poll();
      expect((await found(requestId)).attempts, "before the retry time").to.equal(attempts);
      time = notBefore;
      await poll();
      attempts += 1;
      expect(await found(requestId)).to.include({ ...waiting, attempts });
    }
    const before = receiver.received.length;
    receiver.failure = undefined;
    time += 15 * MINUTE_MS;
    await poll();
    const { body } = receiver.received.at(-1) ?? {};
    expect(receiver.received.length).to.equal(before + 1);
    expect(body).to.include({ request_id: requestId, completed_at: new Date(acceptedAt).toISOString() });
    expect(await found(requestId)).to.include({ completedAt: acceptedAt, attempts: 0, problem: undefined });
    expect(await pending()).to.equal(0);
  });

  it("is not sent to a receiver whose certificate is not trusted, and stays pending", async () => {
    const dir = dataFolder();
    const { certificate, key } = makeCertificates(dir);
    let received = "";
    const untrusted = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (socket) =>
      socket
        .on("error", () => {})
        .on("data", (bytes) => {
          received += bytes;
        }),
    ).listen(0, "127.0.0.1");
    await once(untrusted, "listening");
    const { port } = untrusted.address() as AddressInfo;
    await open({ webhook: webhook(`https://127.0.0.1:${port}/hook`) });
    const requestId = await stage.deletions.accept("user", ann);
    await stage.deletions.run(requestId);
    untrusted.close();
    expect(await found(requestId)).to.include({ completedAt: time, attempts: 1, problem: "webhook is unreachable" });
    expect([received, await pending()]).to.deep.equal(["", 1]);
  });

  for (const failure of received) {
    it(`is delivered to a receiver that ${failure}`, async () => {
      const { deletions } = await open();
      receiver.failure = failure;
      await deletions.run(await deletions.accept("user", ann));
      expect(await pending()).to.equal(0);
    });
  }

  it("makes the other notifications that wait for the receiver due when it is delivered", async () => {
    const { deletions } = await open();
    receiver.failure = "answers 500";
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1)
      ids.push(await deletions.accept("user", { field: "user_id", value: `person-${index}` }));
    for (const id of ids) for (let attempt = 0; attempt < 8; attempt += 1) await stage.run(id);
    receiver.failure = undefined;
    await poll();
    expect(await pending()).to.equal(5);
    await stage.run(ids[3] as string);
    await poll();
    expect(await pending()).to.equal(0);
  });

  it("to a receiver that hangs delays no deletion, and is one of at most 8 concurrent ones", async function () {
    this.timeout(30_000);
    let calls = 0;
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const hanging: Webhook = {
      async send() {
        calls += 1;
        await answered;
      },
    };
    const { deletions, stores } = await open({ webhook: hanging, pollMs: 100 });
    deletions.start();
    for (let index = 0; index < 40; index += 1) {
      const requestId = await deletions.accept("user", { field: "user_id", value: `person-${index}` });
      stores.dueNotifications.send(requestId);
    }
    await until("all are complete", async () => (await stores.ledger.count("open")) === 0);
    await until("the receiver is called", () => calls === 8);
    expect([calls, await pending()]).to.deep.equal([8, 40]);
    answer();
    await until("all are delivered", async () => (await pending()) === 0);
    expect(calls).to.equal(40);
  });

  it("to a receiver that refuses everything delays no deletion, and is one of at most 8 for each poll", async function () {
    this.timeout(30_000);
    let calls = 0;
    const refusing: Webhook = {
      async send() {
        calls += 1;
        throw new TargetError("webhook", "answered 500");
      },
    };
    const { deletions, stores } = await open({ webhook: refusing, clock: systemClock, pollMs: 500 });
    for (let index = 0; index < 150; index += 1)
      await deletions.accept("user", { field: "user_id", value: `person-${index}` });
    deletions.start();
    await until("all are complete", async () => (await stores.ledger.count("open")) === 0);
    const before = calls;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(calls - before).to.be.within(8, 8 * 8);
  });

  it("is sent again by another process if its sender dies, when the lease has ended", async () => {
    let isDying = true;
    const dying: Webhook = {
      async send(...call) {
        await webhook().send(...call);
        if (isDying) throw new Error("killed");
      },
    };
    const { deletions, another } = await open({ webhook: dying });
    const requestId = await deletions.accept("user", ann);
    await deletions.run(requestId);
    isDying = false;
    await another.run(requestId);
    expect(receiver.received).to.have.length(1);
    time += LEASE_MS + 1;
    await another.run(requestId);
    expect(receiver.received.map(({ body }) => body.request_id)).to.deep.equal([requestId, requestId]);
    expect(await pending()).to.equal(0);
  });

  it("is not changed by a run that fails after another process has completed the request", async () => {
    let failErase = () => {};
    let erasures = 0;
    const crm: DownstreamTarget = {
      name: "crm",
      remote: true,
      erase: () =>
        new Promise((resolve, reject) => {
          erasures += 1;
          if (erasures > 1) resolve();
          else failErase = () => reject(new TargetError("crm", "answered 500"));
        }),
      verify: async () => true,
    };
    let answer = () => {};
    let notifications = 0;
    const hanging: Webhook = {
      send: () =>
        new Promise((resolve, reject) => {
          notifications += 1;
          if (notifications > 1) answer = resolve;
          else reject(new TargetError("webhook", "answered 500"));
        }),
    };
    const { deletions, another } = await open({ more: [crm], webhook: hanging });
    const requestId = await deletions.accept("user", ann);
    const late = deletions.run(requestId);
    await until("the target is called", () => erasures === 1);
    time += LEASE_MS + 1;
    await another.run(requestId);
    const { done, times } = await found(requestId);
    time += 15 * MINUTE_MS;
    const notifying = deletions.run(requestId);
    await until("the webhook is called again", () => notifications === 2);
    failErase();
    await late;
    answer();
    await notifying;
    expect(await found(requestId)).to.deep.include({ done, times });
    expect(times).to.have.property("crm");
    expect(await pending()).to.equal(0);
  });

  it("is logged and counted without an identity, whether it fails or is delivered", async () => {
    const lines: object[] = [];
    const note = (fields: object, text: string) => void lines.push({ ...fields, text });
    const failed: string[] = [];
    const { deletions } = await open({
      log: { debug: note, info: note, warn: note, error: note } as unknown as NonNullable<StageOptions["log"]>,
      observer: { completed: () => {}, failed: (stageName) => void failed.push(stageName) },
    });
    receiver.failure = "answers 500";
    const request = await deletions.accept("user", ann);
    await stage.run(request);
    receiver.failure = undefined;
    await stage.run(request);
    expect(lines).to.deep.equal([
      { request, text: "a deletion is complete" },
      { request, problem: "webhook answered 500", attempts: 1, text: "a notification failed; retrying later" },
      { request, text: "the notification of a deletion is delivered" },
    ]);
    expect(failed).to.deep.equal([NOTIFICATION]);
  });

  it("ends if the service stops while it is being sent", async () => {
    const stopping = new AbortController();
    receiver.failure = "hangs without an answer";
    await open({ webhook: webhookAt({ url: receiver.url, token: "secret" }, { sign }, { stopping: stopping.signal }) });
    const requestId = await stage.deletions.accept("user", ann);
    const running = stage.deletions.run(requestId);
    await until("it was called", () => receiver.received.length === 1);
    stopping.abort();
    await running;
    expect(await pending()).to.equal(1);
  });

  it("is not sent to an address that is not safe for the token", async () => {
    await open();
    expect(() => webhook("http://example.org/hook")).to.throw(StartError, /^webhook is wrong: it /);
  });
});
