import { expect } from "chai";
import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";

const TWO_HOURS = 7_200_000;

describe("a deletion that waits for its next try while the clock is set back by 2 h", () => {
  let crm: RemoteSystem;
  let service: TestService;
  let offset: number;
  const clock = () => Date.now() + offset;
  const start = (dir?: string) => {
    const deletions = { targets: [{ name: "crm", url: crm.url, token: "secret" }] };
    return startService({ deletions }, { clock, ...(dir === undefined ? {} : { dir }) });
  };

  beforeEach(async () => {
    offset = 0;
    crm = await remoteSystem();
    crm.trouble = "status";
    service = await start();
  });
  afterEach(async () => {
    await service.stop();
    await crm.close();
  });

  async function remove(): Promise<string> {
    const answer = await service.fetch("/api/entity/user/email/ann@example.org", { method: "DELETE" });
    expect(answer.status).to.equal(200);
    return ((await answer.json()) as { data: { request_id: string } }).data.request_id;
  }

  async function isComplete(requestId: string): Promise<boolean> {
    const answer = await service.fetch(`/api/entity/deletestatus/${requestId}`);
    return ((await answer.json()) as { data: { completed: boolean } }).data.completed;
  }

  const failed = async (requestId: string) =>
    ((await service.service.stores.ledger.find(requestId))?.attempts ?? 0) > 0;

  it("is tried again soon", async () => {
    const requestId = await remove();
    await until("a try has failed", () => failed(requestId));
    offset = -TWO_HOURS;
    crm.trouble = undefined;
    await until("it is complete", () => isComplete(requestId));
  });

  it("is tried again soon by a process that is started afterwards", async () => {
    const requestId = await remove();
    await until("a try has failed", () => failed(requestId));
    const { dir } = service;
    await service.stop({ keep: true });
    offset = -TWO_HOURS;
    crm.trouble = undefined;
    service = await start(dir);
    await until("it is complete", () => isComplete(requestId));
  });
});
