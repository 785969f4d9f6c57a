import { expect } from "chai";
import { dropFromServers } from "../support/drop-from-servers.js";
import { collectThrough } from "../support/requests.js";
import { nameOf, onServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";

const MINUTE_MS = 60_000;
const PATH = "/api/entity/user/email/ann@example.org";

onServers(["mongodb", "influxdb", "bullmq"], "two processes whose clocks differ", function () {
  this.timeout(120_000);
  let right: TestService;
  let wrong: TestService;
  let offset: number;

  const startBoth = async () => {
    right = await startService({ roles: ["api"] }, { onServers: true });
    wrong = await startService(
      { roles: ["api"] },
      { onServers: true, dir: right.dir, machine: () => Date.now() + offset },
    );
  };
  const stopBoth = async () => {
    await wrong.stop({ keep: true });
    await right.stop();
    await dropFromServers(nameOf(right.dir));
  };

  const collect = (service: TestService, message: object) =>
    collectThrough(service, [message], "web?timestamp_field=at");
  const remove = async (service: TestService, path: string) => {
    expect((await service.fetch(path, { method: "DELETE" })).status).to.equal(200);
  };
  const statusOf = async (service: TestService, path: string) => (await service.fetch(path)).status;
  const ready = async () => {
    const answer = await wrong.fetch("/ready");
    const { data } = (await answer.json()) as { data: { degraded: boolean; stores: { name: string }[] } };
    const clock = data.stores.find(({ name }) => name === "clock");
    return { status: answer.status, degraded: data.degraded, clock };
  };

  for (const [minutes, words] of [
    [-5, "behind"],
    [5, "ahead of"],
  ] as const) {
    describe(`one ${words} the server by 5 minutes`, () => {
      before(async () => {
        offset = minutes * MINUTE_MS;
        await startBoth();
      });
      after(stopBoth);

      it("brings no person back by a message from before a DELETE that it accepted", async () => {
        const before = { email: "ann@example.org", plan: "gold", at: new Date(Date.now() - 1_000).toISOString() };
        await collect(right, before);
        await remove(wrong, PATH);
        for (const service of [right, wrong]) await collect(service, before);
        expect(await statusOf(right, PATH)).to.equal(404);
      });

      it("is degraded, with the reason, until its clock is right", async () => {
        const note = `The clock of this process is 300 s ${words} the clock of the server: run NTP`;
        const clock = { name: "clock", required: false, state: "degraded", note };
        expect(await ready()).to.deep.equal({ status: 200, degraded: true, clock });
        offset = 0;
        const right = { name: "clock", required: false, state: "up" };
        expect(await ready()).to.deep.equal({ status: 200, degraded: false, clock: right });
      });
    });
  }
});
