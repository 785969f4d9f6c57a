import { expect } from "chai";
import type { DownstreamTarget, Ledger } from "../../src/deletions/ports.js";
import type { Identity } from "../../src/entities/identity.js";
import type { Log } from "../../src/log.js";
import { onEmbedded } from "../support/servers.js";
import { until } from "../support/until.js";
import { type ErasureStage, erasureStage, type StageOptions } from "./erasure-stage.js";

const person = (index: number): Identity => ({ field: "user_id", value: `person-${index}` });

/** Far longer than the longest wait for the next try that a test comes to. */
const PATIENCE_MS = 60_000;

describe("a deletion that is run because of hints alone", function () {
  this.timeout(2 * PATIENCE_MS);
  let stage: ErasureStage | undefined;
  let crm: ReturnType<typeof place>;

  beforeEach(() => {
    crm = place();
  });
  afterEach(async () => {
    await stage?.close();
    stage = undefined;
  });

  it("has its error logged, with the request id, when the run cannot even be noted as failed, and is tried again", async () => {
    const warned: { err?: unknown; request?: string }[] = [];
    const note = (fields: object) => void warned.push(fields);
    let isReadOnly = true;
    const at = await open({
      log: { debug: () => {}, info: () => {}, warn: note, error: note } as unknown as Log,
      ledger: (ledger) => ({
        async lease(...args) {
          if (isReadOnly) throw new Error("The ledger is read-only");
          return ledger.lease(...args);
        },
      }),
    });
    const requestId = await requested(at, 1);
    await until("the error is logged", () => warned.length > 0);
    expect(warned[0]?.request).to.equal(requestId);
    expect(String(warned[0]?.err)).to.include("The ledger is read-only");
    isReadOnly = false;
    await completed(at, requestId);
  });

  it("is tried again until a target that fails has erased", async () => {
    crm.failures = 2;
    const at = await open({ more: [crm.target] });
    await completed(at, await requested(at, 1));
    expect(crm.calls).to.have.length(3);
  });

  it("goes on when the lease of another runner is over", async () => {
    const at = await open({ more: [crm.target] });
    const requestId = await at.erasure.request("user", person(1));
    const now = Date.now();
    await at.stores.ledger.lease(requestId, "a runner that has died", now, now + 500);
    at.stores.wakeUp.hint(requestId);
    await completed(at, requestId);
    expect(Date.now()).to.be.at.least(now + 500);
  });

  it("goes on, long before its next try, when the target that it waits for works again", async () => {
    crm.failures = Number.POSITIVE_INFINITY;
    const at = await open({ more: [crm.target] });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await at.erasure.request("user", person(index)));
    // The next try of each is a quarter of an hour away.
    for (const id of ids) for (let attempt = 0; attempt < 12; attempt += 1) await at.erasure.run(id);
    crm.failures = 0;
    await at.erasure.run(ids[3] as string);
    for (const id of ids) await completed(at, id);
  });

  // What it says to be done is not yet done when BullMQ runs a request before the note.
  onEmbedded("whose target works again", () => {
    it("is looked up once when the target that it waits for works again, however many others wait for it", async () => {
      const OTHERS = 40;
      let lookedUp = 0;
      const at = await open({
        more: [crm.target],
        ledger: ({ open: real }) => ({
          async open(asked) {
            const found = asked.due === undefined ? await real(asked) : [];
            lookedUp += found.length;
            return found;
          },
        }),
      });
      const first = await at.erasure.request("user", person(0));
      crm.failures = 1;
      await at.erasure.run(first);
      const ids: string[] = [];
      const done = ["profile", "membership-index", "history-archive"];
      for (let index = 1; index <= OTHERS; index += 1) {
        const id = await at.erasure.request("user", person(index));
        const now = Date.now();
        await at.stores.ledger.note(id, 1, { done, attempts: 12, notBefore: now + 900_000, now });
        ids.push(id);
      }
      await at.erasure.run(first);
      for (const id of ids) await completed(at, id);
      // The 8 runs that a queue has at once may each look before the others have noted what they found: one look for each run would find 820.
      expect(lookedUp)
        .to.be.at.least(OTHERS)
        .and.at.most(8 * OTHERS);
    });
  });

  it("goes on when an earlier one over the same identity is complete", async () => {
    const at = await open({ more: [crm.target] });
    const first = await at.erasure.request("user", person(1));
    const now = Date.now();
    await at.stores.ledger.lease(first, "another", now, now + 3_600_000);
    await at.profile([person(1)]);
    const second = await requested(at, 1);
    expect(second).to.not.equal(first);
    await until("it waits", async () => ((await at.stores.ledger.find(second))?.notBefore ?? 0) > 0);
    await at.stores.ledger.release(first, "another");
    at.stores.wakeUp.hint(first);
    for (const id of [first, second]) await completed(at, id);
  });

  it("is not tried by further hints before its next try is due", async () => {
    let released = 0;
    crm.failures = Number.POSITIVE_INFINITY;
    const at = await open({
      more: [crm.target],
      ledger: (ledger) => ({
        async release(...args) {
          await ledger.release(...args);
          released += 1;
        },
      }),
    });
    const requestId = await at.erasure.request("user", person(1));
    // A hinted run that has the request at the moment keeps another one out.
    await until("it was tried twelve times", async () => {
      await at.erasure.run(requestId);
      return crm.calls.length >= 12;
    });
    const before = released;
    for (let hint = 0; hint < 3; hint += 1) {
      const runs = released;
      await until("a hinted run has ended", () => {
        at.stores.wakeUp.hint(requestId);
        return released > runs;
      });
    }
    expect(released - before).to.be.at.least(3);
    expect(crm.calls).to.have.length(12);
    expect((await at.stores.ledger.find(requestId))?.attempts).to.equal(12);
  });

  /** Erasure whose sweeper finds nothing. */
  async function open({
    ledger = () => ({}),
    ...options
  }: StageOptions & { ledger?: (ledger: Ledger) => Partial<Ledger> }): Promise<ErasureStage> {
    const found = async (asked: Parameters<Ledger["open"]>[0], real: Ledger) =>
      asked.due === undefined ? real.open(asked) : [];
    stage = await erasureStage({
      ...options,
      wrap: ({ ledger: real }) => ({ ledger: { ...real, open: (asked) => found(asked, real), ...ledger(real) } }),
    });
    stage.erasure.start();
    return stage;
  }

  /** Asks for a deletion and hints it, as the route does. */
  async function requested(at: ErasureStage, index: number): Promise<string> {
    const requestId = await at.erasure.request("user", person(index));
    at.stores.wakeUp.hint(requestId);
    return requestId;
  }

  async function completed(at: ErasureStage, requestId: string): Promise<void> {
    const isComplete = async () => (await at.stores.ledger.find(requestId))?.completedAt !== undefined;
    await until("it is complete", isComplete, PATIENCE_MS);
  }
});

/** A remote target that fails as many times as `failures` says. */
function place() {
  const at = {
    failures: 0,
    calls: [] as string[],
    target: {
      name: "crm",
      remote: true,
      async erase({ requestId }) {
        at.calls.push(requestId);
        at.failures -= 1;
        if (at.failures >= 0) throw new Error("The target is unreachable");
      },
      verify: async () => true,
    } satisfies DownstreamTarget as DownstreamTarget,
  };
  return at;
}
