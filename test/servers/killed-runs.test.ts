import { expect } from "chai";
import { type ErasureStage, erasureStage } from "../deletions/erasure-stage.js";
import { dataFolder } from "../support/data-folder.js";
import { dropFromServers } from "../support/drop-from-servers.js";
import { endsWithTest } from "../support/ends-with-test.js";
import { type RealService, startReal } from "../support/real-service.js";
import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { environmentOnServers, nameOf, onServers } from "../support/servers.js";
import { until } from "../support/until.js";

/** The lease ends 8 s after the kill, and the next poll is at most 2 s later. The rest is for a busy machine. */
const GOES_ON_WITHIN_MS = 20_000;

onServers(["mongodb", "influxdb", "bullmq"], "a deletion whose worker is killed", function () {
  this.timeout(120_000);
  const erased: string[] = [];
  let dir: string;
  let remote: RemoteSystem;
  let living: ErasureStage;

  beforeEach(async () => {
    erased.length = 0;
    dir = dataFolder();
    endsWithTest(() => dropFromServers(nameOf(dir)));
    remote = await remoteSystem();
    living = await erasureStage({
      dir,
      onServers: true,
      pollMs: 2_000,
      more: [
        {
          name: "newsletter",
          remote: true,
          erase: async ({ requestId }) => void erased.push(requestId),
          verify: async () => true,
        },
      ],
    });
  });

  it("is continued by another worker", async () => {
    const dying = await startWorker({ FAILPOINT: "profile-erased" });
    const requestId = await requested();
    expect(await dying.gone).to.equal("SIGKILL");
    expect(await isComplete(requestId)).to.equal(false);
    living.deletions.start();
    await until("it is complete", () => isComplete(requestId), GOES_ON_WITHIN_MS);
    expect(erased).to.deep.equal([requestId]);
  });

  it("while a remote target is called is continued by another worker", async () => {
    remote.trouble = "silence";
    const dying = await startWorker();
    const requestId = await requested();
    await until("the target is called", () => remote.calls.length > 0);
    await dying.kill();
    expect(await isComplete(requestId)).to.equal(false);
    living.deletions.start();
    await until("it is complete", () => isComplete(requestId), GOES_ON_WITHIN_MS);
    expect(erased).to.deep.equal([requestId]);
  });

  function startWorker(environment: Record<string, string> = {}): Promise<RealService> {
    const targets = [{ name: "newsletter", url: remote.url, token: "a-token-of-the-newsletter" }];
    return startReal(dir, {
      ...environmentOnServers(nameOf(dir)),
      ROLES: "worker",
      DELETIONS_TARGETS: JSON.stringify(targets),
      ...environment,
    });
  }

  /** A deletion of a known profile, notified as the route does. */
  async function requested(): Promise<string> {
    const ann = { field: "user_id", value: "ann" };
    await living.profile([ann]);
    const requestId = await living.deletions.accept("user", ann);
    living.stores.dueNotifications.send(requestId);
    return requestId;
  }

  async function isComplete(requestId: string): Promise<boolean> {
    return (await living.stores.ledger.find(requestId))?.completedAt !== undefined;
  }
});
