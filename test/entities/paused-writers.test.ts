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
import { holdFirst } from "../support/held-database.js";

const ann = { field: "email", value: "ann@example.org" };
const newId = () => randomBytes(16).toString("hex");

type Held = ReturnType<typeof holdFirst>;

describe("a writer that sleeps through a whole erasure", () => {
  let stage: EntityStage;
  let erasure: Erasure;
  afterEach(() => stage.close());

  /** `wrap` puts holds before the ports of the writer that `stage.collect` is. */
  async function open(wrap: (stores: Stores) => Partial<Stores>): Promise<void> {
    stage = await entityStage(wrap);
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

  const beforeSave = (held: Held) => (stores: Stores) => ({
    entities: {
      ...stores.entities,
      async save(changes: Parameters<Stores["entities"]["save"]>[0]) {
        await held.hook("save");
        return stores.entities.save(changes);
      },
    },
  });

  const beforeAppend = (held: Held) => (stores: Stores) => ({
    history: {
      ...stores.history,
      async append(messages: Parameters<Stores["history"]["append"]>[0]) {
        await held.hook("append");
        await stores.history.append(messages);
      },
    },
  });

  const common = () => ({ segments: segmentNames(stage.stores.catalogue), hashIdentity: stage.hashIdentity, newId });

  /** Another process, which takes its time nowhere but at what is in place of its ports; `repeated`: the message id of another request. */
  async function collectElsewhere(json: object, repeated?: string, ports: Partial<Stores> = {}): Promise<void> {
    const arrival = stage.arrivals();
    const { time = arrival, ...message } = parseMessage(json, messageRules(), Date.now());
    const take = collectMessages({ ...stage.stores, ...common(), ...ports });
    const id = repeated ?? newId();
    const mayBeKept = repeated !== undefined;
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
    const stop = holdFirst("save");
    await open(beforeSave(stop));
    const writer = stage.collect([{ email: ann.value, secret: 1, segments: { add: ["vip"] } }]);
    await stop.reached;
    await collectElsewhere({ email: ann.value, hello: 1 });
    await stage.finish();
    await eraseAnn();
    stop.release();
    await writer;
    await expectGoneAndWelcome();
  });

  it("brings nobody back when its message was settled by a repeat before it was appended", async () => {
    const [append, save] = [holdFirst("append"), holdFirst("save")];
    await open((stores) => ({
      ...beforeSave(save)(stores),
      ...beforeAppend(append)(stores),
    }));
    const message = { email: ann.value, secret: 1, segments: { add: ["vip"] } };
    const writer = stage.collect([message], { ids: ["d".repeat(32)] });
    await append.reached;
    await collectElsewhere(message, "d".repeat(32));
    append.release();
    await save.reached;
    await eraseAnn();
    save.release();
    await writer;
    await expectGoneAndWelcome();
  });

  it("leaves nobody to be read, and nothing after the next sweep, when a repeat of its message took the place of it, and was erased", async () => {
    const [elsewhere, save] = [holdFirst("append"), holdFirst("save")];
    await open(beforeSave(save));
    const { stores } = stage;
    const message = { email: ann.value, secret: 1, segments: { add: ["vip"] } };
    const repeat = collectElsewhere(message, "d".repeat(32), beforeAppend(elsewhere)(stores));
    await elsewhere.reached;
    const writer = stage.collect([message], { ids: ["d".repeat(32)] });
    await save.reached;
    elsewhere.release();
    await repeat;
    await eraseAnn();
    save.release();
    await writer;
    expect(await stage.read(ann.field, ann.value)).to.equal(undefined);
    const targets = downstreamTargets({ ...stores, remote: [], failpoint: noFailpoint });
    await sweepLeftovers({ ...stores, targets }, 0);
    await expectGoneAndWelcome();
  });

  it("brings nobody back when one who finishes what is pending sleeps as well", async () => {
    const [slow, finished] = [holdFirst("save"), holdFirst("save")];
    await open(beforeSave(slow));
    const { stores } = stage;
    const writer = stage.collect([{ email: ann.value, secret: 1, segments: { add: ["vip"] } }]);
    await slow.reached;
    const parts = { ...stores, ...common(), ...beforeSave(finished)(stores) };
    const finisher = finishPending(parts, Number.MAX_SAFE_INTEGER);
    await finished.reached;
    slow.release();
    await writer;
    await eraseAnn();
    finished.release();
    await finisher;
    await expectGoneAndWelcome();
  });

  it("leaves no key behind of a profile that another's came before", async () => {
    const stop = holdFirst("appended");
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
        append: (messages) => stores.history.append(messages).then(() => stop.hook("appended")),
      },
    }));
    const writer = stage.collect([{ email: ann.value, secret: 1 }]);
    await stop.reached;
    await collectElsewhere({ email: ann.value, hello: 1 });
    stop.release();
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
