import { expect } from "chai";
import { contractHooks, outboxContract } from "../../../contracts/outbox.contract.js";
import { onServers } from "../../../support/servers.js";
import { openTestEngine } from "../engine.js";

onServers(["mongodb"], "mongodb", () => {
  outboxContract("mongodb", async () => {
    const engine = await openTestEngine();
    return { stores: await engine.another({ hooks: contractHooks as never }), close: engine.close };
  });

  it("ends no request of the outbox that another process has claimed since", async () => {
    const engine = await openTestEngine();
    const [first, second] = [await engine.another(), await engine.another()];
    await first.outbox.addMembers({ hook: "crm", segment: "vip", at: 1, cancels: true }, ["a"]);
    const ids = (await first.outbox.of(["a"])).map(({ id }) => id);
    const states = async () => (await first.outbox.of(["a"])).map(({ state }) => state);
    await first.outbox.claim(ids);
    await second.outbox.release();
    await second.outbox.claim(ids);
    await first.outbox.release(ids);
    await first.outbox.remove(ids);
    expect(await states()).to.deep.equal(["sending"]);
    await second.outbox.remove(ids);
    expect(await states()).to.deep.equal([]);
    await engine.close();
  });
});
