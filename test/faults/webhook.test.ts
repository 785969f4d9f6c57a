import { expect } from "chai";
import { compactVerify, createLocalJWKSet } from "jose";
import { dataFolder } from "../support/data-folder.js";
import { startReal } from "../support/real-service.js";
import { collectThrough, gaugeOf, isCompleteIn, removeThrough, removeUnlessKilled } from "../support/requests.js";
import { type Overrides, startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { type WebhookReceiver, webhookReceiver } from "../support/webhook-receiver.js";

const HOUR = 3_600_000;

describe("P31: the webhook of completed deletions", function () {
  this.timeout(120_000);
  let receiver: WebhookReceiver;
  beforeEach(async () => {
    receiver = await webhookReceiver();
  });

  const setting = () => ({ url: receiver.url, token: "secret" });
  const notified = () => receiver.received.map(({ body }) => body.request_id);

  describe("of a process that is killed", () => {
    const start = (dir: string, environment: Record<string, string> = {}) =>
      startReal(dir, { WEBHOOK: JSON.stringify(setting()), ...environment });

    for (const [failpoint, times] of [
      ["keys-checkpointed", 1],
      ["notification-begun", 1],
      ["notification-sent", 2],
    ] as const) {
      it(`is called after the next start when the process died at ${failpoint}`, async () => {
        const dir = dataFolder();
        const dying = await start(dir, { FAILPOINT: failpoint });
        await collectThrough(dying, [{ email: "ann@example.org" }]);
        const requestId = await removeUnlessKilled(dying, "email/ann@example.org");
        expect(await dying.gone).to.equal("SIGKILL");
        expect(requestId).to.be.a("string");

        await start(dir);
        await until("it is notified", () => receiver.received.length >= times, 30_000);
        expect(notified()).to.deep.equal(Array.from({ length: times }, () => requestId));
      });
    }

    it("is called for each of 42 deletions that are interrupted by three kills", async () => {
      const dir = dataFolder();
      receiver.failure = "answers 500";
      const ids: string[] = [];
      for (let kill = 0; kill < 3; kill += 1) {
        const child = await start(dir);
        if (kill > 0) receiver.failure = undefined;
        for (let index = 0; index < 14; index += 1)
          ids.push(await removeThrough(child, `email/p${kill}-${index}@example.org`));
        await until("some were sent", () => receiver.received.length > kill * 5);
        await child.kill();
      }
      const last = await start(dir);
      await until("none is pending", async () => {
        const open = await gaugeOf(last, "deletions_open");
        return open === 0 && (await gaugeOf(last, "deletion_notifications_pending")) === 0;
      });
      expect(new Set(notified())).to.deep.equal(new Set(ids));
      expect(last.log()).to.not.match(/example\.org|secret/);
    });
  });

  describe("of one service after another on the same data", () => {
    let dir: string | undefined;
    let service: TestService | undefined;
    let now = Date.now();
    beforeEach(() => {
      dir = undefined;
      service = undefined;
    });

    /** Starts the service on the data of the one before. */
    async function restart(settings: Overrides): Promise<TestService> {
      await service?.stop({ keep: true });
      service = await startService(settings, { clock: () => now, ...(dir === undefined ? {} : { dir }) });
      dir = service.dir;
      return service;
    }

    /** Deletes a person; resolves with the request id once the request is completed. */
    async function deleted(at: TestService): Promise<string> {
      await collectThrough(at, [{ email: "ann@example.org" }]);
      const requestId = await removeThrough(at, "email/ann@example.org");
      await until("it is completed", () => isCompleteIn(at, requestId));
      return requestId;
    }
    const statusOf = async (at: TestService, requestId: string) =>
      (await at.fetch(`/api/entity/deletestatus/${requestId}`)).status;
    const pending = (at: TestService) => gaugeOf(at, "deletion_notifications_pending");

    it("receives a receipt with a valid signature, and with the request and time of the notification", async () => {
      const at = await restart({ webhook: setting() });
      const requestId = await deleted(at);
      await until("it is notified", () => receiver.received.length > 0);
      const { body, authorization } = receiver.received[0] ?? {};
      expect(authorization).to.equal("Bearer secret");
      expect(body).to.have.all.keys("request_id", "completed_at", "receipt");
      const jwks = await (await at.fetch("/.well-known/jwks.json")).json();
      const { payload } = await compactVerify(body?.receipt ?? "", createLocalJWKSet(jwks as never));
      const claims = JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>;
      const { request_id, completed_at } = body ?? {};
      expect(claims).to.include({ request_id, completed_at });
      expect(request_id).to.equal(requestId);
      expect(JSON.stringify(claims)).to.not.include("ann");
      const receipt = await at.fetch(`/api/deletion/${requestId}/receipt`);
      expect(await receipt.text()).to.equal(body?.receipt);
    });

    it("changes neither the status of a deletion nor its receipt if it fails, and its failure is shown", async () => {
      receiver.failure = "answers 500";
      const at = await restart({ webhook: setting() });
      const requestId = await deleted(at);
      const state = async () => {
        const { data } = (await (await at.fetch(`/api/deletion/${requestId}`)).json()) as {
          data: { completed_at: string; stage: string; stuck: boolean; problem: string | null; next_try_at: string };
        };
        return data;
      };
      await until("its failure is stored", async () => (await state()).problem !== null);
      expect(await pending(at)).to.equal(1);
      const data = await state();
      expect(data).to.include({ stage: "complete", stuck: false, problem: "webhook answered 500" });
      expect([typeof data.completed_at, typeof data.next_try_at]).to.deep.equal(["string", "string"]);
      expect((await at.fetch(`/api/deletion/${requestId}/receipt`)).status).to.equal(200);
      expect((await at.fetch(`/api/deletion/${requestId}/retry`, { method: "POST" })).status).to.equal(409);
      expect(await gaugeOf(at, "deletions_open")).to.equal(0);
      expect(await (await at.fetch("/metrics")).text()).to.match(
        /^entity_metrics_deletion_failures_total\{stage="notification"\} [1-9]/m,
      );
    });

    it("is called after its setting returns, but not for deletions accepted without the setting", async () => {
      receiver.failure = "answers 500";
      const requestId = await deleted(await restart({ webhook: setting() }));
      await until("it failed", () => receiver.received.length > 0);
      receiver.failure = undefined;
      receiver.received.length = 0;
      const without = await restart({});
      await deleted(without);
      expect([await pending(without), notified().length]).to.deep.equal([1, 0]);
      now += HOUR;
      const again = await restart({ webhook: setting() });
      await until("none is pending", async () => (await pending(again)) === 0);
      expect(notified()).to.deep.equal([requestId]);
    });

    it("keeps a request with a pending notification from expiring, unless its setting was removed", async () => {
      receiver.failure = "answers 500";
      const first = await restart({ webhook: setting(), deletions: { retention: "1h" } });
      const other = await removeThrough(await restart({ deletions: { retention: "1h" } }), "email/bob@example.org");
      await until("it is completed", () => isCompleteIn(service as TestService, other));
      const requestId = await deleted(await restart({ webhook: setting(), deletions: { retention: "1h" } }));
      expect(first.dir).to.equal(dir);
      now += 25 * HOUR;
      const later = await restart({ webhook: setting(), deletions: { retention: "1h" } });
      await until("the other one has expired", async () => (await statusOf(later, other)) === 404);
      expect(await statusOf(later, requestId)).to.equal(200);
      const without = await restart({ deletions: { retention: "1h" } });
      await until("it has expired", async () => (await statusOf(without, requestId)) === 404);
    });
  });
});
