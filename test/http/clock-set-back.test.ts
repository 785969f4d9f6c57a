import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { isCompleteIn, removeThrough } from "../support/requests.js";
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

  const failed = async (requestId: string) =>
    ((await service.service.stores.ledger.find(requestId))?.attempts ?? 0) > 0;

  it("is tried again soon", async () => {
    const requestId = await removeThrough(service, "email/ann@example.org");
    await until("a try has failed", () => failed(requestId));
    offset = -TWO_HOURS;
    crm.trouble = undefined;
    await until("it is complete", () => isCompleteIn(service, requestId));
  });

  it("is tried again soon by a process that is started afterwards", async () => {
    const requestId = await removeThrough(service, "email/ann@example.org");
    await until("a try has failed", () => failed(requestId));
    const { dir } = service;
    await service.stop({ keep: true });
    offset = -TWO_HOURS;
    crm.trouble = undefined;
    service = await start(dir);
    await until("it is complete", () => isCompleteIn(service, requestId));
  });
});
