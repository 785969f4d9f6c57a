import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { type Clock, systemClock } from "../../src/clock.js";
import { StartError } from "../../src/errors.js";
import { mintKey } from "../../src/keys/verify-key.js";
import type { Stores } from "../../src/stores/stores.js";
import { dataFolder } from "../support/data-folder.js";
import { dropFromServers } from "../support/drop-from-servers.js";
import { collectThrough, statusOf } from "../support/requests.js";
import { nameOf, storesOnServers } from "../support/servers.js";
import { type Overrides, startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { erasureStage } from "./erasure-stage.js";
import { copyStore, removeStore } from "./store-copy.js";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** A clock that is a day ahead, and a minute further at each look. */
function tomorrow(): Clock {
  let looks = 0;
  return () => systemClock() + DAY_MS + MINUTE_MS * looks++;
}

/** A deletion stays open: no process runs it. */
const API_ONLY: Overrides = { roles: ["api"] };

describe("a start on restored data", function () {
  this.timeout(60_000);
  let dir: string;

  beforeEach(() => {
    dir = dataFolder();
  });

  afterEach(async () => {
    if (storesOnServers) await dropFromServers(nameOf(dir));
  });

  async function use(work: (service: TestService) => Promise<unknown>, overrides: Overrides = {}): Promise<void> {
    const service = await startService(overrides, { dir });
    try {
      await work(service);
    } finally {
      await service.stop({ keep: true });
    }
  }

  /** The message of a refused start; empty if it succeeds. */
  async function startError(): Promise<string> {
    try {
      await use(async () => {});
      return "";
    } catch (error) {
      expect(error).to.be.instanceOf(StartError);
      return (error as Error).message;
    }
  }

  const collect = (service: TestService, ...messages: object[]) => collectThrough(service, messages);

  const remove = async (service: TestService, path: string) => {
    const answer = await service.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
    return ((await answer.json()) as { data: { request_id: string } }).data.request_id;
  };

  const isComplete = async ({ service }: TestService, requestId: string) =>
    (await service.stores.ledger.find(requestId))?.completedAt !== undefined;

  const readable = async (service: TestService, path: string) =>
    (await service.fetch(`/api/entity/user/${path}`)).status === 200;

  /** Expires, a day later, what was completed an hour ago; another runner has leased `open`. */
  async function forget(requestId: string, open?: string): Promise<void> {
    const wrap = ({ ledger }: Stores): Partial<Stores> => ({
      ledger: { ...ledger, lease: async (id, ...rest) => (id === open ? undefined : ledger.lease(id, ...rest)) },
    });
    const stage = await erasureStage({ dir, retentionMs: 60 * MINUTE_MS, clock: tomorrow(), wrap });
    try {
      stage.deletions.start();
      await until("it is expired", async () => (await stage.stores.ledger.find(requestId)) === undefined);
    } finally {
      await stage.close();
    }
  }

  const changes: readonly [what: string, change: (service: TestService) => Promise<unknown>][] = [
    ["a profile that was created", (service) => collect(service, { _uid: "b" })],
    [
      "a profile that was created and merged into an older one",
      async (service) => {
        await collect(service, { user_id: "b" });
        await collect(service, { _uid: "a", user_id: "b" });
      },
    ],
    ["a deletion that is open", (service) => remove(service, "_uid/a")],
    ["a deletion of an unknown identity", (service) => remove(service, "_uid/stranger")],
  ];
  for (const [what, change] of changes) {
    it(`is refused with a copy of the ledger from before ${what}`, async () => {
      await use((service) => collect(service, { _uid: "a" }));
      const older = await copyStore(dir, "ledger");
      await use(change, API_ONLY);
      await older.restore();
      for (const _ of [1, 2])
        expect(await startError()).to.match(/ledger.* is older than .*: put back the newest one$/);
    });
  }

  it("is refused with a ledger and data of the same earlier time until ledger.accepted is removed", async () => {
    if (storesOnServers) return;
    await use((service) => collect(service, { _uid: "a" }));
    const older = [await copyStore(dir, "entities"), await copyStore(dir, "ledger")];
    await use((service) => remove(service, "_uid/a"), API_ONLY);
    for (const copy of older) await copy.restore();
    for (const _ of [1, 2]) expect(await startError()).to.match(/ledger.db .* lacks deletions that it had accepted/);
    rmSync(join(dir, "ledger.accepted"));
    expect(await startError()).to.equal("");
  });

  it("is refused without the ledger, also repeatedly, until the ledger is back", async () => {
    await use((service) => collect(service, { _uid: "a" }));
    const kept = await copyStore(dir, "ledger");
    await removeStore(dir, "ledger");
    for (const _ of [1, 2]) expect(await startError()).to.match(/ledger.* is missing or belongs to other data/);
    await kept.restore();
    await use(async (service) => expect(await readable(service, "_uid/a")).to.equal(true));
  });

  it("returns the same ids to a repeated request for many deletions", async () => {
    const deleteBoth = async (service: TestService) => {
      const json = [
        { field: "_uid", value: "a" },
        { field: "_uid", value: "stranger" },
      ];
      const headers = { "idempotency-key": "both" };
      const answer = await service.fetch("/api/deletion", { method: "POST", json, headers });
      return ((await answer.json()) as { data: { request_id: string }[] }).data.map(({ request_id }) => request_id);
    };
    let first: string[] = [];
    await use((service) => collect(service, { _uid: "a" }));
    const before = await copyStore(dir, "entities");
    await use(async (service) => {
      first = await deleteBoth(service);
    });
    await before.restore();
    await use(async (service) => {
      expect(await deleteBoth(service)).to.deep.equal(first);
      expect(await service.service.stores.ledger.count("all")).to.equal(2);
    });
  });

  it("counts a member who is erased again as one who left", async () => {
    // MongoDB counts with the acceptance, in one transaction; a crash of the embedded engine may come between them.
    if (storesOnServers) return;
    await use((service) => collect(service, { _uid: "a", segments: ["vip"] }));
    const before = await copyStore(dir, "entities");
    await use((service) => remove(service, "_uid/a"), API_ONLY);
    await before.restore();
    for (const _ of [1, 2]) {
      await use(async ({ service: { stores } }) => {
        const counts = await stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 9);
        const ofSegment = counts.filter(({ stream }) => stream.endsWith("/vip"));
        const shown = ofSegment.map(({ stream, count }) => `${stream} ${count}`);
        expect(shown).to.have.members(["/joined/vip 1", "/left/vip 1"]);
      });
    }
  });

  it("keeps a key revoked that was revoked after the copy of the data, and accepts a newer key", async () => {
    const [early, late] = [mintKey("early", ["metric:read"], 1), mintKey("late", ["metric:read"], 2)];
    await use(({ service }) => service.stores.keys.add(early.stored));
    const before = await copyStore(dir, "entities");
    await use(async ({ service: { stores } }) => {
      await stores.keys.revoke(early.stored.id, 3);
      await stores.keys.add(late.stored);
    });
    await before.restore();
    await use(async (service) => {
      expect(await statusOf(service, "/metrics", early.key)).to.equal(401);
      expect(await statusOf(service, "/metrics", late.key)).to.equal(200);
    });
  });

  it("is refused with data older than an expired deletion, and succeeds with newer data", async () => {
    let requestId = "";
    await use((service) => collect(service, { _uid: "a", segments: ["vip"] }, { _uid: "b" }));
    const before = await copyStore(dir, "entities");
    await use(async (service) => {
      requestId = await remove(service, "_uid/a");
      await until("it is complete", () => isComplete(service, requestId));
    });
    await use(async () => {}); // the start notes with the data what was erased
    const after = await copyStore(dir, "entities");
    await forget(requestId);
    await before.restore();
    for (const _ of [1, 2]) {
      expect(await startError()).to.match(
        /is older than deletions that .*ledger.* has forgotten \(deletions\.retention\)/,
      );
    }
    await after.restore();
    await use(async (service) => {
      expect(await readable(service, "_uid/a")).to.equal(false);
      expect(await readable(service, "_uid/b")).to.equal(true);
      await collect(service, { _uid: "a" });
    });
  });

  it("succeeds if deletions have expired while an earlier one is open", async () => {
    let [open, requestId] = ["", ""];
    await use(async (service) => {
      await collect(service, { _uid: "a" }, { _uid: "b" });
      open = await remove(service, "_uid/a");
      requestId = await remove(service, "_uid/b");
    }, API_ONLY);
    const stage = await erasureStage({ dir });
    await stage.run(requestId);
    await stage.close();
    await forget(requestId, open);
    await use(async (service) => {
      const { ledger } = service.service.stores;
      expect(await isComplete(service, open)).to.equal(false);
      expect(await ledger.find(requestId)).to.equal(undefined);
    }, API_ONLY);
  });

  it("succeeds with data copied right after an expired deletion had completed", async () => {
    let requestId = "";
    await use(async (service) => {
      await collect(service, { _uid: "a", segments: ["vip"] }, { _uid: "b" });
      requestId = await remove(service, "_uid/a");
      await until("it is complete", () => isComplete(service, requestId));
    });
    const copy = await copyStore(dir, "entities");
    await forget(requestId);
    await copy.restore();
    await use(async (service) => {
      expect(await readable(service, "_uid/a")).to.equal(false);
      expect(await readable(service, "_uid/b")).to.equal(true);
    });
  });

  it("is refused with data copied while a deletion was open, after a later one and then this one have expired", async () => {
    let [open, later] = ["", ""];
    await use(async (service) => {
      await collect(service, { _uid: "a" }, { _uid: "b" });
      open = await remove(service, "_uid/a");
      later = await remove(service, "_uid/b");
    }, API_ONLY);
    const stage = await erasureStage({ dir });
    await stage.run(later);
    await stage.close();
    await forget(later, open);
    const copy = await copyStore(dir, "entities");
    await use((service) => until("it is complete", () => isComplete(service, open)));
    await forget(open);
    await copy.restore();
    for (const _ of [1, 2])
      expect(await startError()).to.match(/is older than deletions that .*ledger.* has forgotten/);
  });

  it("succeeds with new, empty data and a ledger whose deletions have expired", async () => {
    let requestId = "";
    await use(async (service) => {
      await collect(service, { _uid: "a" });
      requestId = await remove(service, "_uid/a");
      await until("it is complete", () => isComplete(service, requestId));
    });
    await forget(requestId);
    await removeStore(dir, "entities");
    for (const uid of ["a", "b"]) {
      await use(async (service) => {
        await collect(service, { _uid: uid });
        expect(await readable(service, `_uid/${uid}`)).to.equal(true);
      });
    }
  });
});
