import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { dimensionNames } from "../../src/metrics/dimensions.js";
import { pageText } from "../support/readme.js";
import { valuesOf } from "../support/requests.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { socketIn, startTelegraf, type Telegraf, telegrafBinary } from "./telegraf.js";

const HOUR = 3_600_000;
const recipe = /^```toml telegraf\n([\s\S]*?)^```$/m.exec(pageText("docs/line-protocol.md"))?.[1] ?? "";

describe("the recipe for Telegraf in docs/line-protocol.md", () => {
  it("passes every dimension and only the field value", () => {
    const names = [...recipe.matchAll(/^ *namepass = (\[.*\])$/gm)].map(([, list]) => JSON.parse(list as string));
    expect(names).to.have.length(2);
    for (const list of names) expect(list.sort()).to.deep.equal([...dimensionNames].sort());
    expect(recipe.split("[[outputs.influxdb_v2]]")[1]).to.match(/namepass = .*\n *fieldinclude = \["value"\]\n/);
  });

  it("writes growing sums of an hour, of which the service stores the last", async () => {
    const service = await startService();
    try {
      const at = Math.floor(Date.now() / HOUR) * HOUR - HOUR;
      const sums = [3, 7, 12].map((sum) => `stream,dimension_id=so-far,host=h value=${sum}i ${at}000000`);
      const answer = await service.fetch("/api/v2/write?org=-&bucket=-", { method: "POST", body: sums.join("\n") });
      expect(answer.status).to.equal(204);
      expect(await slotsOf(service, "stream", "so-far", at, at + HOUR)).to.deep.equal([[at, 12]]);
    } finally {
      await service.stop();
    }
  });

  if (telegrafBinary === undefined) it("is not run with Telegraf, as TEST_TELEGRAF names no program");
  else for (const skip of [true, false]) withTelegraf(skip);
});

function withTelegraf(skip: boolean): void {
  describe(`run with skip_processors_after_aggregators = ${skip}`, function () {
    this.timeout(180_000);
    let service: TestService;
    let dir: string;
    let telegraf: Telegraf | undefined;
    before(async () => {
      service = await startService();
      dir = mkdtempSync(join(tmpdir(), "telegraf-"));
      writeFileSync(join(dir, "telegraf.conf"), adapted(service, dir, skip));
    });
    after(async () => {
      await telegraf?.stop();
      await service.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    it("stores the sum of each hour in its slot, whatever else arrives, and continues after a restart", async () => {
      const now = Math.floor(Date.now() / HOUR) * HOUR;
      const [first, second] = [now - 3 * HOUR, now - 2 * HOUR];
      const line = (text: string, at: number) => `${text} ${at}000000`;
      const values = () => slotsOf(service, "stream", "web shop", first, now);
      const expected = (what: string, sums: readonly (readonly [number, number])[]) =>
        until(`${what}; Telegraf: ${telegraf?.log()}`, async () => isSame(await values(), sums), 60_000);

      telegraf = await startTelegraf(dir, join(dir, "telegraf.conf"));
      await telegraf.send([
        line("stream,dimension_id=web\\ shop value=3i", first),
        line("stream,dimension_id=web\\ shop,host=other value=4i", first + HOUR - 1),
        line("cpu,dimension_id=web usage=1", first),
        line("stream,dimension_id=web\\ shop value=10i,latency=7.5", second + 1),
        line('stream,dimension_id=web\\ shop value="many"', second),
        line("stream,dimension_id=web\\ shop other=1", second),
        line("stream value=1", second),
        line("stream,dimension_id=web\\ shop value=1", Date.UTC(2100, 0, 1)),
        line("stream,dimension_id=web\\ shop value=1", Date.UTC(2020, 0, 1)),
        line("stream,dimension_id=web\\ shop value=5i", first + 60_000),
        line("segment,dimension_id=newsletter,host=h value=5210", second),
      ]);
      await expected("the sums of both hours", [
        [first, 12],
        [second, 10],
      ]);
      await until("the size", async () => {
        const sizes = await slotsOf(service, "segment", "newsletter", now - 6 * HOUR, now);
        return sizes.length === 1 && sizes[0]?.[1] === 5210;
      });
      expect(await telegraf.stop()).to.equal(0);

      telegraf = await startTelegraf(dir, join(dir, "telegraf.conf"));
      await telegraf.send([
        line("stream,dimension_id=web\\ shop value=0.5", first + 1),
        line("stream,dimension_id=web\\ shop value=1i", second + 2),
      ]);
      await expected("the sums go on", [
        [first, 12.5],
        [second, 11],
      ]);
      expect(telegraf.log()).to.not.match(/ E! |will be dropped/);
    });
  });
}

/** The recipe with another address, key and file, an input, and an aggregator of another measurement. */
function adapted(service: TestService, dir: string, skip: boolean): string {
  const replaced = [
    [/statefile = "[^"]*"/, `statefile = ${JSON.stringify(join(dir, "state"))}\n  flush_interval = "200ms"`],
    [/skip_processors_after_aggregators = true/, `skip_processors_after_aggregators = ${skip}`],
    [/"http:\/\/127\.0\.0\.1:8080"/, JSON.stringify(service.url)],
    [/"\$\{KEY\}"/, JSON.stringify(service.key)],
  ] as const;
  const text = replaced.reduce((config, [from, to]) => {
    expect(config).to.match(from);
    return config.replace(from, to);
  }, recipe);
  return `${text}
[[inputs.socket_listener]]
  service_address = "unix://${socketIn(dir)}"
  data_format = "influx"

[[aggregators.basicstats]]
  namepass = ["cpu"]
  period = "1s"
  drop_original = true
`;
}

/** Instants and values of a series at its slots in a window. */
const slotsOf = (service: TestService, dimension: string, dimension_id: string, startdate: number, enddate: number) =>
  valuesOf(service, { dimension, dimension_id, startdate, enddate, interval: "1h" });

function isSame(found: readonly (readonly number[])[], wanted: readonly (readonly number[])[]): boolean {
  return JSON.stringify(found) === JSON.stringify(wanted);
}
