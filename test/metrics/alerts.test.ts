import { expect } from "chai";
import { isFiring, storedAlerts } from "../../src/metrics/alerts/alert.js";
import type { AlertSetting } from "../../src/metrics/alerts/rule.js";
import { ALERTS } from "../../src/metrics/ports.js";
import { HeldCalls } from "../support/held-calls.js";
import { storesOnServers } from "../support/servers.js";
import { type OpenStores, openTemporaryStores } from "../support/stores.js";
import { type AlertProcess, alertProcess, HOUR, type Notification, receiverOf } from "./alert-world.js";
import { seriesOf } from "./recorder-fixture.js";
import { mulberry32 } from "./recorder-simulation.js";

const start = Date.UTC(2026, 2, 1);
const days = storesOnServers ? 2 : 30;
const MINUTE = 60_000;

describe("alerts", function () {
  this.timeout(240_000);
  let opened: OpenStores;
  let now = start;
  beforeEach(async () => {
    opened = await openTemporaryStores();
  });
  const clock = () => now;

  /** Writes the value of a stream in the hour of `time`. */
  const write = (id: string, time: number, value: number) =>
    opened.stores.series.write("clients", [
      { series: seriesOf("stream", id), from: Math.floor(time / HOUR) * HOUR, values: Float64Array.of(value) },
    ]);
  const stored = async () => storedAlerts(await opened.stores.facts.text(ALERTS)).alerts;
  const firing = async () => (await stored()).filter(isFiring).map((one) => one.dimensionId);
  /** Evaluates, when an earlier lease of another process has ended. */
  const evaluate = async (process: AlertProcess) => {
    now += 10_000;
    await process.run();
  };
  const below: AlertSetting = { name: "few", dimension: "stream", pattern: "w*", condition: "below", value: 5 };

  it(`of ${days} days fire once and resolve once, while processes are killed and the receiver fails`, async () => {
    const random = mulberry32(7);
    const rules: AlertSetting[] = [
      below,
      { name: "silent", series: "stream.web.size", condition: "silent_for", over: "2h" },
      { name: "falls", dimension: "stream", pattern: "*", condition: "falls_by", value: 50, over: "3h" },
    ];
    const received: Notification[] = [];
    const receiver = receiverOf(received, () => (random() < 0.2 ? "webhook answered 500" : undefined));
    const history = new Map(["web", "wap", "app"].map((id) => [id, [] as number[]]));
    const processes = [0, 1].map(() => ({
      calls: new HeldCalls(),
      work: undefined as AlertProcess | undefined,
      upAt: 0,
    }));
    let [boots, deaths] = [0, 0];
    for (let hour = 0; hour <= days * 24; hour += 1) {
      for (const step of [62_000, 75_000, 30 * MINUTE]) {
        now = start + hour * HOUR + step;
        for (const one of processes) {
          one.calls.revive();
          if (hour < days * 24 && random() < 0.2) one.calls.die(Math.floor(random() * 14), random() < 0.5);
          if (one.work === undefined && now >= one.upAt) {
            boots += 1;
            const { around } = one.calls;
            one.work = alertProcess(opened.stores, { clock, owner: `process ${boots}`, rules, receiver, around });
          }
          await one.work?.run().catch(() => {
            deaths += 1;
            one.work = undefined;
            one.upAt = now + Math.floor(random() ** 4 * 20) * HOUR;
          });
        }
      }
      // The values of this hour are written in the next one's first minute.
      for (const [id, values] of history) {
        const value = random() < 0.3 ? Number.NaN : Math.floor(random() * 10);
        values.push(value);
        if (!Number.isNaN(value)) await write(id, start + hour * HOUR, value);
      }
    }
    const last = alertProcess(opened.stores, { clock, owner: "the last process", rules, receiver });
    for (let minute = 0; minute < 60; minute += 1) {
      now += MINUTE;
      await last.run();
    }
    expect(deaths).to.be.greaterThan(days * 2);

    const seen = new Map(received.map((one) => [`${one.id} ${one.state}`, one]));
    const expected = rules.flatMap((rule) => [...history].flatMap(([id, values]) => expectedEvents(rule, id, values)));
    const events = [...seen.values()].map((one) => {
      const hour = (Date.parse(one.resolved_at ?? one.since) - start) / HOUR;
      return `${one.name} ${one.dimension_id} ${one.state} ${hour}`;
    });
    expect(events.sort()).to.deep.equal(expected.sort());
    expect(expected.length).to.be.greaterThan(days);
    for (const [key, { id, state }] of seen) {
      if (state === "firing") continue;
      const first = received.findIndex((one) => one.id === id && one.state === "firing");
      expect(first, `${key} arrives after its beginning`).to.be.within(
        0,
        received.indexOf(seen.get(key) as Notification),
      );
    }
    // A short one may send nothing twice.
    if (days > 2) expect(received.length).to.be.greaterThan(seen.size);
  });

  it("stay as they are without a value, and end when their rule or series is gone", async () => {
    now = start + HOUR + MINUTE;
    const first = alertProcess(opened.stores, { clock, owner: "a", rules: [below] });
    await write("web", start, 3);
    await write("wap", start, 7);
    await write("app", start, 3);
    await evaluate(first);
    expect(await firing()).to.deep.equal(["web"]);
    now += HOUR;
    await evaluate(first);
    expect(await firing(), "an hour without values").to.deep.equal(["web"]);
    await write("web", now, 5);
    now += HOUR;
    await evaluate(first);
    expect(await firing(), "enough again").to.deep.equal([]);
    await write("web", now, 0);
    await write("wap", now, 0);
    now += HOUR;
    await evaluate(first);
    expect((await firing()).sort()).to.deep.equal(["wap", "web"]);
    now += HOUR;
    await evaluate(alertProcess(opened.stores, { clock, owner: "a", rules: [{ ...below, pattern: "we*" }] }));
    expect(await firing(), "its pattern leaves one").to.deep.equal(["web"]);
    now += HOUR;
    await evaluate(alertProcess(opened.stores, { clock, owner: "a", rules: [] }));
    expect(await firing(), "without rules").to.deep.equal([]);
  });

  it("of a rule that was removed or changed end when a process with the new rules begins, which decide the same slot", async () => {
    now = start + HOUR + MINUTE;
    await write("web", start, 3);
    await write("wap", start, 4);
    const changed = (rule: Partial<AlertSetting>) => ({ ...below, ...rule });
    const steps: (readonly [rules: AlertSetting[], firing: unknown[]])[] = [
      [[below], ["wap few 5 1h", "web few 5 1h"]],
      [[changed({ pattern: "we*" })], ["web few 5 1h"]],
      [[changed({ value: 4 })], ["web few 4 1h"]],
      [[changed({ value: 4, over: "2h" })], ["web few 4 2h"]],
      [[changed({ name: "other" })], ["wap other 5 1h", "web other 5 1h"]],
      [[{ name: "other", series: "stream.wap.size", condition: "below", value: 5 }], ["wap other 5 1h"]],
      [[], []],
    ];
    for (const [rules, expected] of steps) {
      await evaluate(alertProcess(opened.stores, { clock, owner: "a", rules }));
      const shown = (await stored()).filter(isFiring);
      expect(
        shown.map(({ dimensionId, name, value, over }) => `${dimensionId} ${name} ${value} ${over}`).sort(),
      ).to.deep.equal(expected);
    }
    const ended = await stored();
    expect([ended.length, new Set(ended.map(({ resolvedAt }) => resolvedAt))]).to.deep.equal([
      6,
      new Set([start + HOUR]),
    ]);
  });

  it("that have ended are stored for 30 days, at most the newest 2,000 of them, also when all rules are gone", async () => {
    const ids = Array.from({ length: 2_001 }, (_, index) => `w${String(index).padStart(4, "0")}`);
    const work = alertProcess(opened.stores, { clock, owner: "a", rules: [below] });
    now = start + MINUTE;
    for (const value of [1, 9]) {
      const time = now;
      await opened.stores.series.write(
        "clients",
        ids.map((id) => ({
          series: seriesOf("stream", id),
          from: Math.floor(time / HOUR) * HOUR,
          values: Float64Array.of(ids.indexOf(id) === 0 ? 1 : value),
        })),
      );
      now += HOUR;
      await evaluate(work);
    }
    expect(await firing()).to.deep.equal([ids[0]]);
    await write("w0000", now, 9);
    now += HOUR;
    await evaluate(work);
    const ended = (await stored()).map((one) => one.dimensionId);
    expect(ended).to.have.length(2_000).and.include("w0000");
    const gone = alertProcess(opened.stores, { clock, owner: "a", rules: [] });
    now += 30 * 24 * HOUR - 2 * HOUR;
    await evaluate(gone);
    expect(await stored()).to.have.length(2_000);
    for (const left of [1, 0]) {
      now += HOUR;
      await evaluate(gone);
      expect(await stored()).to.have.length(left);
    }
  });

  it("are not evaluated in the first minute after a slot, nor without the lease", async () => {
    now = start + HOUR + MINUTE - 1;
    await write("web", start, 3);
    const first = alertProcess(opened.stores, { clock, owner: "a", rules: [below] });
    await first.run();
    const evaluated = async () => storedAlerts(await opened.stores.facts.text(ALERTS)).evaluated.stream;
    expect(await evaluated(), "the slot before").to.equal(start);
    now += 10_000;
    await opened.stores.lease("recorder", "b", now, now + 60_000);
    await evaluate(first);
    expect(await evaluated(), "another process has the lease").to.equal(start);
    now += MINUTE;
    await evaluate(first);
    expect(await evaluated()).to.equal(start + HOUR);
    expect(await firing()).to.deep.equal(["web"]);
  });

  it("are not evaluated if the lease was taken after the recorder, which was refused, has saved nothing", async () => {
    now = start + HOUR + MINUTE;
    await write("web", start, 3);
    const { lease } = opened.stores;
    await lease("recorder", "b", now, now + 5_000);
    const recorder = {
      async tick() {
        now += 6_000;
        await lease("recorder", "a", now, now + 5_000);
        return false;
      },
    };
    await alertProcess(opened.stores, { clock, owner: "a", rules: [below], recorder }).run();
    expect(await firing()).to.deep.equal([]);
  });

  it("are sent by the process that took over, and not again by the stopped one when it continues", async () => {
    const received: Notification[] = [];
    const receiver = receiverOf(received);
    const calls = new HeldCalls();
    const first = alertProcess(opened.stores, { clock, owner: "a", rules: [below], receiver, around: calls.around });
    const second = alertProcess(opened.stores, { clock, owner: "b", rules: [below], receiver });
    now = start + HOUR + MINUTE;
    await write("web", start, 3);
    const held = calls.hold(0, "replaceText");
    const stopped = first.run();
    await held;
    now += MINUTE;
    await evaluate(second);
    await write("web", now, 7);
    now += HOUR;
    await evaluate(second);
    calls.release();
    await stopped;
    now += MINUTE;
    await evaluate(first);
    expect(received.map(({ state }) => state)).to.deep.equal(["firing", "resolved"]);
    expect(await firing()).to.deep.equal([]);
  });

  it("are sent once although their state changes while they are sent", async () => {
    const { facts } = opened.stores;
    const received: Notification[] = [];
    const around = async <T>(call: () => Promise<T>, name: string) => {
      const result = await call();
      const text = name === "notify" ? await facts.text(ALERTS) : undefined;
      if (text !== undefined) await facts.replaceText(ALERTS, text, `${text} `);
      return result;
    };
    const work = alertProcess(opened.stores, {
      clock,
      owner: "a",
      rules: [below],
      receiver: receiverOf(received),
      around,
    });
    now = start + HOUR;
    await write("web", start, 3);
    await evaluate(work);
    now += MINUTE;
    await evaluate(work);
    await evaluate(work);
    expect(received.map(({ state }) => state)).to.deep.equal(["firing"]);
  });

  it("are evaluated while the state of notifications changes", async () => {
    const { facts } = opened.stores;
    // Each change of the text acts as the change that a notification makes.
    const around = async <T>(call: () => Promise<T>, name: string) => {
      const text = name === "list" ? await facts.text(ALERTS) : undefined;
      if (text !== undefined) await facts.replaceText(ALERTS, text, `${text} `);
      return call();
    };
    const work = alertProcess(opened.stores, { clock, owner: "a", rules: [below], around });
    now = start + MINUTE;
    for (const value of [9, 3]) {
      now += HOUR;
      await write("web", now - HOUR, value);
      await evaluate(work);
    }
    expect(await firing()).to.deep.equal(["web"]);
  });

  it("evaluate the slots of a day that no process evaluated, and continue after longer ones at the newest", async () => {
    const received: Notification[] = [];
    const rules = [{ ...below, pattern: "*" }];
    const work = alertProcess(opened.stores, { clock, owner: "a", rules, receiver: receiverOf(received) });
    now = start + MINUTE;
    await evaluate(work);
    await write("web", start + 2 * HOUR, 1);
    await write("web", start + 3 * HOUR, 9);
    now = start + 20 * HOUR + MINUTE;
    await evaluate(work);
    await work.run();
    expect(received.map(({ state }) => state)).to.deep.equal(["firing", "resolved"]);
    await write("web", start + 30 * HOUR, 1);
    now = start + 60 * HOUR + MINUTE;
    await evaluate(work);
    expect(received).to.have.length(2);
    now = start - 60 * HOUR + MINUTE;
    await evaluate(work);
    expect(storedAlerts(await opened.stores.facts.text(ALERTS)).evaluated.stream, "the clock was set back").to.equal(
      now - (now % HOUR),
    );
  });
});

/** The events of a rule over one stream, from the values of its hours: `name id state hour`. */
function expectedEvents({ name, pattern, series }: AlertSetting, id: string, values: readonly number[]): string[] {
  if (!(pattern === "*" || (pattern === "w*" && id !== "app") || series === `stream.${id}.size`)) return [];
  const events: string[] = [];
  let isFiring = false;
  // The first evaluated slot is the one before the first hour.
  for (let end = 0; end <= values.length; end += 1) {
    const holds = holdsAt(name, values, end);
    if (holds === undefined || holds === isFiring) continue;
    isFiring = holds;
    events.push(`${name} ${id} ${holds ? "firing" : "resolved"} ${end}`);
  }
  return events;
}

function holdsAt(name: string, values: readonly number[], end: number): boolean | undefined {
  const window = (from: number, to: number) => {
    const saved = values.slice(Math.max(0, from), Math.max(0, to)).filter((value) => !Number.isNaN(value));
    return saved.length === 0 ? undefined : saved.reduce((total, value) => total + value);
  };
  if (name === "silent") return (window(end - 2, end) ?? 0) === 0;
  if (name === "few") {
    const value = window(end - 1, end);
    return value === undefined ? undefined : value < 5;
  }
  const [before, after] = [window(end - 6, end - 3), window(end - 3, end)];
  if (before === undefined || after === undefined) return undefined;
  return before > 0 && (1 - after / before) * 100 >= 50;
}
