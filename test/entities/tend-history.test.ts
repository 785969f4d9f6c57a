import { expect } from "chai";
import { segmentNames } from "../../src/catalogue/segment-names.js";
import { identityHashing } from "../../src/entities/identity.js";
import { tendHistory } from "../../src/entities/tend-history.js";
import { openLog } from "../../src/log.js";
import { LONG_AGO } from "../support/entity-stage.js";
import { amount } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { temporaryStores } from "../support/temporary-stores.js";
import { until } from "../support/until.js";

const HOUR = 3_600_000;

describe("looking after the history", () => {
  it("finishes what a writer left behind before the port opens", async () => {
    let now = Date.now();
    const first = await startService({ roles: ["api"] }, { clock: () => now });
    const { history } = first.service.stores;
    const { settle } = history;
    history.settle = () => Promise.reject(new Error("died"));
    const answer = await first.fetch("/collect/json/web", { method: "POST", json: { _uid: "a", x: 1 } });
    expect(answer.status).to.equal(500);
    history.settle = settle;
    await first.stop({ keep: true });

    // On servers another process may have it under way, for a while.
    now += amount(0, 31_000);
    const second = await startService({ roles: ["api"] }, { clock: () => now, dir: first.dir });
    expect(await second.service.stores.history.pending(Number.MAX_SAFE_INTEGER, 9)).to.deep.equal([]);
    expect(await second.service.stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 9)).to.have.length(1);
    expect((await second.fetch("/api/me/_uid/a")).status).to.equal(200);
    await second.stop();
  });

  it("forgets settled messages older than history.keep, and not their profiles", async () => {
    let now = LONG_AGO;
    const first = await startService({ roles: ["api"] }, { clock: () => now });
    const send = (service: TestService, _uid: string) =>
      service.fetch("/collect/json/web", { method: "POST", json: { _uid } });
    await send(first, "old");
    await first.stop({ keep: true });
    now += 48 * HOUR;
    const options = { clock: () => now, dir: first.dir };
    const second = await startService({ roles: ["api"], history: { keep: "1d" } }, options);
    await send(second, "new");
    const { history, entities } = second.service.stores;
    const hashOf = identityHashing(second.service.stores.pepper);
    const hashes = ["old", "new"].map((value) => hashOf("user", { field: "_uid", value }));
    const owners = await entities.owners(hashes);
    const [old, young] = hashes.map((hash) => owners.get(hash) ?? "") as [string, string];
    await until("the old message is gone", async () => !(await history.holds([old])));
    expect(await history.holds([young])).to.equal(true);
    expect((await second.fetch("/api/me/_uid/old")).status).to.equal(200);
    await second.stop();
  });

  it("forgets many old messages step by step", async () => {
    const messages = amount(2_500, 150);
    const { history, close } = await temporaryStores({ inMemory: true });
    const ids = Array.from({ length: messages }, (_, i) => i.toString(16).padStart(32, "0"));
    const stamp = { time: LONG_AGO, position: 0, sealed: Uint8Array.of(1), hashes: [] };
    await history.append(
      ids.map((id, i) => ({ id, table: "user", stream: "web", entity: id, ...stamp, arrival: LONG_AGO + i })),
    );
    await history.settle(ids);
    await history.expire(LONG_AGO + messages - 100);
    expect(await history.find(ids)).to.have.property("size", 100);
    await close();
  });

  it("removes what an Idempotency-Key left behind a day ago, although no request comes", async () => {
    const stores = await temporaryStores({ inMemory: true });
    await stores.idempotency.begin("old", "a", LONG_AGO, LONG_AGO + 1);
    let removed = false;
    const tending = tendHistory({
      ...stores,
      segments: segmentNames(stores.catalogue),
      newId: () => "",
      arrivals: () => LONG_AGO + 24 * HOUR,
      keepMs: undefined,
      log: openLog("silent"),
      idempotency: {
        ...stores.idempotency,
        async forget(now) {
          await stores.idempotency.forget(now);
          removed = true;
        },
      },
    });
    tending.start();
    await until("old requests are looked for", () => removed);
    await tending.stop();
    const again = await stores.idempotency.begin("old", "a", LONG_AGO + 1, LONG_AGO + 2);
    expect(again?.arrival).to.equal(LONG_AGO + 1);
    await stores.close();
  });
});
