import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { type ServiceBehindProxy, startBehindProxy } from "../support/behind-proxy.js";
import { onServers } from "../support/servers.js";
import type { FetchOptions } from "../support/service.js";
import { sideBySide } from "../support/side-by-side.js";

const LIVE = "/api/entity/user/email/live@example.org";
const CALLERS = 32;
const CUTS = 12;
/** Between two cuts, ms. */
const CUT_EVERY_MS = 300;
/** The longest that a store may take, ms. */
const DEADLINE_MS = 3_000;

onServers(["mongodb", "influxdb", "bullmq"], "while all connections to MongoDB are cut repeatedly,", function () {
  this.timeout(120_000);
  let on: ServiceBehindProxy;

  before(async () => {
    on = await startBehindProxy(DEADLINE_MS);
    await answer("/collect/json/web", { method: "POST", json: { email: "live@example.org" } });
  });
  after(() => on.close());

  for (const how of ["end", "reset"] as const) {
    it(`every response is 200 or 503 and in time, and reads succeed once connections stay open (${how})`, async () => {
      const late: string[] = [];
      const strange: string[] = [];
      let isDone = false;
      const callers = Array.from({ length: CALLERS }, async (_, caller) => {
        for (let turn = 0; !isDone; turn += 1) {
          const [path, options] = requestOf(caller, `${how}-${caller}-${turn}`);
          const { status, text, ms } = await answer(path, options);
          if (ms > DEADLINE_MS + 1_000) late.push(`${path}: ${status} after ${ms} ms`);
          if (status !== 200 && status !== 503) strange.push(`${path}: ${status} ${text}`);
        }
      });
      for (let cuts = 0; cuts < CUTS; cuts += 1) {
        await sleep(CUT_EVERY_MS);
        on.proxy[how]();
      }
      isDone = true;
      await Promise.all(callers);
      expect({ late, strange: strange.slice(0, 5) }).to.deep.equal({ late: [], strange: [] });
      await sideBySide(Array.from({ length: 2 * CALLERS }), async () => {
        const { status, ms } = await answer(LIVE, {});
        expect({ status, isSoon: ms < 2_000 }).to.deep.equal({ status: 200, isSoon: true });
      });
    });
  }

  /** Reads, messages and deletions in turn. */
  function requestOf(caller: number, person: string): [path: string, options: FetchOptions] {
    if (caller % 2 === 0) return [LIVE, {}];
    if (caller % 4 === 1) {
      const json = { email: `${person}@example.org`, text: "x".repeat(50_000) };
      return ["/collect/json/web", { method: "POST", json }];
    }
    return [`/api/entity/user/email/${person}@example.org`, { method: "DELETE" }];
  }

  async function answer(path: string, options: FetchOptions): Promise<{ status: number; text: string; ms: number }> {
    const began = performance.now();
    // A hang is reported as a late answer of status 0.
    const signal = AbortSignal.timeout(4 * DEADLINE_MS);
    try {
      const response = await on.service.fetch(path, { ...options, signal });
      return { status: response.status, text: await response.text(), ms: performance.now() - began };
    } catch (error) {
      if (!signal.aborted) throw error;
      return { status: 0, text: "", ms: performance.now() - began };
    }
  }
});
