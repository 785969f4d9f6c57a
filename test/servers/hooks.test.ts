import { expect } from "chai";
import { type HookReceiver, hookReceiver } from "../support/hook-receiver.js";
import { type ProcessSet, processSet } from "../support/process-set.js";
import type { RealService } from "../support/real-service.js";
import { collectThrough, isCompleteIn, removeThrough } from "../support/requests.js";
import { onServers } from "../support/servers.js";
import { until } from "../support/until.js";

onServers(["mongodb", "influxdb", "bullmq"], "P41: a hook of three processes", function () {
  this.timeout(300_000);
  let receiver: HookReceiver;
  let set: ProcessSet;

  before(async () => {
    receiver = await hookReceiver();
    const hooks = [{ name: "crm", url: receiver.url, token: "t", segments: ["*"] }];
    set = await processSet({ HOOKS: JSON.stringify(hooks) });
  });
  after(async () => {
    await set.close();
    await receiver.close();
  });

  const email = (n: number) => `p${n}@example.org`;
  const say = (service: RealService, people: readonly number[], segments: object) =>
    collectThrough(
      service,
      people.map((n) => ({ email: email(n), segments })),
    );
  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

  it("receives every change in order, from another process after the sender was killed, and nothing of the erased", async () => {
    const services = [await set.start("api,worker"), await set.start("api,worker"), await set.start("api,worker")];
    const [first, second, third] = services as [RealService, RealService, RealService];
    const isTold = (by: RealService) =>
      until(
        "the hook is told",
        async () => {
          const { data } = (await (await by.fetch("/api/hook")).json()) as { data: [{ waiting: number }] };
          return data[0].waiting === 0;
        },
        60_000,
      );
    await say(second, numbers(0, 60), { add: ["vip"], remove: [] });
    await isTold(third);
    receiver.delayMs = 300;
    await say(third, numbers(60, 120), { add: ["vip"], remove: [] });
    await say(second, numbers(0, 30), { add: [], remove: ["vip"] });
    await first.kill();
    receiver.delayMs = 0;
    const requestId = await removeThrough(third, `email/${email(40)}`);
    const erasedAt = performance.now();
    await say(third, numbers(120, 130), { add: ["vip"], remove: [] });
    await second.kill();
    await isTold(third);
    await until("the deletion is completed", () => isCompleteIn(third, requestId), 60_000);
    const known = receiver.members("vip").flat().sort();
    const expected = [...numbers(30, 40), ...numbers(41, 130)].map((n) => `email:${email(n)}`).sort();
    expect(known).to.deep.equal(expected);
    for (const n of numbers(0, 30))
      expect(receiver.changesOf(email(n)).join(" ")).to.match(/^joined vip( joined vip)* left vip( left vip)*$/);
    const later = receiver.requests
      .filter(({ began }) => began > erasedAt)
      .flatMap(({ body }) => body.events.filter(({ identities }) => identities?.email?.includes(email(40))));
    expect(new Set(later.map(({ change, id }) => `${change} ${id}`)).size).to.be.at.most(1);
    expect(later.every(({ change }) => change === "left")).to.equal(true);
  });
});
