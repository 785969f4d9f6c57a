import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { segmentNames } from "../../src/catalogue/segment-names.js";
import { noObserver } from "../../src/deletions/deletion-observer.js";
import { type Erasure, openErasure } from "../../src/deletions/erasure.js";
import { sweepLeftovers } from "../../src/deletions/sweep-leftovers.js";
import { downstreamTargets } from "../../src/downstream/index.js";
import { collectMessages } from "../../src/entities/collect-messages.js";
import { finishPending } from "../../src/entities/finish-pending.js";
import { parseMessage } from "../../src/entities/parse-message.js";
import { sealing } from "../../src/entities/sealed.js";
import { noFailpoint } from "../../src/failpoint.js";
import { openLog } from "../../src/log.js";
import type { Stores } from "../../src/stores/stores.js";
import { type EntityStage, entityStage, messageRules, userTable } from "../support/entity-stage.js";

const ann = { field: "email", value: "ann@example.org" };
const newId = () => randomBytes(16).toString("hex");

/** A place where whoever comes first waits until it is let go. */
function gate() {
  let arrive = () => {};
  let letGo = () => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const open = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let isFirst = true;
  return {
    reached,
    letGo: () => letGo(),
    async pass(): Promise<void> {
      if (!isFirst) return;
      isFirst = false;
      arrive();
      await open;
    },
  };
}

type Gate = ReturnType<typeof gate>;

describe("a writer that sleeps through a whole erasure", () => {
  let stage: EntityStage;
  let erasure: Erasure;
  let closing: EntityStage[] = [];
  afterEach(async () => {
    for (const open of closing) await open.close();
    closing = [];
  });

  /** `wrap` puts gates before the ports of the writer that `stage.collect` is. */
  async function open(wrap: (stores: Stores) => Partial<Stores>): Promise<void> {
    stage = await entityStage(wrap);
    closing.push(stage);
    const { stores, hashIdentity, arrivals } = stage;
    erasure = openErasure({
      ...stores,
      sealing: sealing(stores.entityKeys),
      targets: downstreamTargets({ ...stores, remote: [], failpoint: noFailpoint }),
      hashIdentity,
      clock: Date.now,
      arrivals,
      log: openLog("silent"),
      observer: noObserver,
      failpoint: noFailpoint,
      keepMs: undefined,
    });
  }

  const beforeSave = (stop: Gate) => (stores: Stores) => ({
    entities: {
      ...stores.entities,
      save: (changes: Parameters<Stores["entities"]["save"]>[0]) =>
        stop.pass().then(() => stores.entities.save(changes)),
    },
  });

  const common = () => ({ segments: segmentNames(stage.stores.catalogue), hashIdentity: stage.hashIdentity, newId });

  /** Another process, which takes its time nowhere. */
  async function collectElsewhere(json: object, id = newId(), mayBeKept = false): Promise<void> {
    const arrival = stage.arrivals();
    const { time = arrival, ...message } = parseMessage(json, messageRules(), Date.now());
    const take = collectMessages({ ...stage.stores, ...common() });
    await take("web", userTable, [{ id, mayBeKept, stamp: { time, arrival, position: 0 }, message }]);
  }

  async function eraseAnn(): Promise<void> {
    const id = await erasure.request("user", ann);
    await erasure.run(id);
    expect((await stage.stores.ledger.find(id))?.completedAt).to.be.a("number");
  }

  /** Nobody is there, nothing is counted as a member, and whoever comes anew is taken. */
  async function expectGoneAndWelcome(): Promise<void> {
    const { entities, memberships, suppression } = stage.stores;
    const hash = stage.hashIdentity("user", ann);
    const owner = (await entities.owners([hash])).get(hash);
    expect(owner === undefined ? "nobody" : (await entities.load([owner])).get(owner)?.state).to.be.oneOf([
      "nobody",
      "dead",
    ]);
    expect(await memberships.sizes(["vip"])).to.deep.equal([0]);
    expect(await stage.read(ann.field, ann.value)).to.equal(undefined);
    expect((await suppression.cutOffs([hash])).size).to.equal(1);
    await collectElsewhere({ email: ann.value, hello: "again" });
    expect(await stage.read(ann.field, ann.value)).to.deep.equal({ email: ann.value, hello: "again", segments: [] });
  }

  it("brings nobody back when its message was moved to another's profile, and erased there", async () => {
    const stop = gate();
    await open(beforeSave(stop));
    const writer = stage.collect([{ email: ann.value, secret: 1, segments: { add: ["vip"] } }]);
    await stop.reached;
    await collectElsewhere({ email: ann.value, hello: 1 });
    await stage.finish();
    await eraseAnn();
    stop.letGo();
    await writer;
    await expectGoneAndWelcome();
  });

  it("brings nobody back when its message was settled by a repeat before it was appended", async () => {
    const [append, save] = [gate(), gate()];
    await open((stores) => ({
      ...beforeSave(save)(stores),
      history: { ...stores.history, append: (messages) => append.pass().then(() => stores.history.append(messages)) },
    }));
    const message = { email: ann.value, secret: 1, segments: { add: ["vip"] } };
    const writer = stage.collect([message], { ids: ["d".repeat(32)] });
    await append.reached;
    await collectElsewhere(message, "d".repeat(32), true);
    append.letGo();
    await save.reached;
    await eraseAnn();
    save.letGo();
    await writer;
    await expectGoneAndWelcome();
  });

  it("leaves nobody to be read, and nothing after the next sweep, when a repeat of its message took the place of it, and was erased", async () => {
    const [elsewhere, save] = [gate(), gate()];
    await open(beforeSave(save));
    const { stores } = stage;
    const message = { email: ann.value, secret: 1, segments: { add: ["vip"] } };
    const append: Stores["history"]["append"] = (messages) =>
      elsewhere.pass().then(() => stores.history.append(messages));
    const take = collectMessages({ ...stores, ...common(), history: { ...stores.history, append } });
    const arrival = stage.arrivals();
    const { time = arrival, ...parsed } = parseMessage(message, messageRules(), Date.now());
    const stamp = { time, arrival, position: 0 };
    const repeat = take("web", userTable, [{ id: "d".repeat(32), mayBeKept: true, stamp, message: parsed }]);
    await elsewhere.reached;
    const writer = stage.collect([message], { ids: ["d".repeat(32)] });
    await save.reached;
    elsewhere.letGo();
    await repeat;
    await eraseAnn();
    save.letGo();
    await writer;
    expect(await stage.read(ann.field, ann.value)).to.equal(undefined);
    const targets = downstreamTargets({ ...stores, remote: [], failpoint: noFailpoint });
    await sweepLeftovers({ ...stores, targets }, 0);
    await expectGoneAndWelcome();
  });

  it("brings nobody back when one who finishes what is pending sleeps as well", async () => {
    const [slow, finished] = [gate(), gate()];
    await open(beforeSave(slow));
    const { stores } = stage;
    const writer = stage.collect([{ email: ann.value, secret: 1, segments: { add: ["vip"] } }]);
    await slow.reached;
    const parts = { ...stores, ...common(), ...beforeSave(finished)(stores) };
    const finisher = finishPending(parts, Number.MAX_SAFE_INTEGER);
    await finished.reached;
    slow.letGo();
    await writer;
    await eraseAnn();
    finished.letGo();
    await finisher;
    await expectGoneAndWelcome();
  });

  it("leaves no key behind of a profile that another's came before", async () => {
    const stop = gate();
    const made: string[] = [];
    await open((stores) => ({
      entityKeys: {
        ...stores.entityKeys,
        create(ids) {
          made.push(...ids);
          return stores.entityKeys.create(ids);
        },
      },
      history: {
        ...stores.history,
        append: (messages) => stores.history.append(messages).then(() => stop.pass()),
      },
    }));
    const writer = stage.collect([{ email: ann.value, secret: 1 }]);
    await stop.reached;
    await collectElsewhere({ email: ann.value, hello: 1 });
    stop.letGo();
    await writer;
    expect(await stage.read(ann.field, ann.value)).to.deep.equal({
      email: ann.value,
      secret: 1,
      hello: 1,
      segments: [],
    });
    await eraseAnn();
    expect(made).to.have.length(1);
    expect(await stage.stores.entityKeys.holds(made)).to.equal(false);
  });
});
