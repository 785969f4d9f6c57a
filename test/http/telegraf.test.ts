import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { pageText } from "../support/readme.js";
import { valuesOf } from "../support/requests.js";
import { startService, type TestService } from "../support/service.js";
import { until } from "../support/until.js";
import { socketIn, startTelegraf, type Telegraf, telegrafBinary } from "./telegraf.js";

const HOUR = 3_600_000;
const AT = Math.floor(Date.now() / HOUR) * HOUR - HOUR;
const recipe = /^```toml telegraf\n([\s\S]*?)^```$/m.exec(pageText("docs/line-protocol.md"))?.[1] ?? "";

describe("the recipe for counts with Telegraf in docs/line-protocol.md", () => {
  let service: TestService;
  beforeEach(async () => {
    service = await startService();
  });

  const count = (host: string, ns: number, value: number) =>
    `stream,dimension_id=web\\ shop,host=${host} value=${value} ${AT}${String(ns).padStart(6, "0")}`;
  const sum = async () => {
    const window = { startdate: AT, enddate: AT + HOUR, interval: "1h" };
    return (await valuesOf(service, { dimension: "stream", dimension_id: "web shop", ...window }))[0]?.[1] ?? 0;
  };

  it("is an output of six settings, which passes only the measurement stream and the field value", () => {
    expect(recipe.match(/=/g)).to.have.length(6);
    for (const setting of ['bucket = "add"', 'namepass = ["stream"]', 'fieldinclude = ["value"]'])
      expect(recipe).to.contain(`\n  ${setting}\n`);
  });

  it("counts every line of two agents once, also when a batch is sent again with newer lines behind it", async () => {
    const query = "org=-&bucket=add&precision=ns";
    const send = async (...lines: string[]) => {
      const answer = await service.fetch(`/api/v2/write?${query}`, { method: "POST", body: `${lines.join("\n")}\n` });
      expect(answer.status).to.equal(204);
    };
    await Promise.all([send(count("a", 1, 3), count("a", 2, 4)), send(count("b", 1, 10), count("b", 3, 20))]);
    await send(count("a", 2, 4), count("a", 3, 5));
    await send(count("b", 1, 10), count("b", 3, 20), count("b", 4, 30));
    expect(await sum()).to.equal(72);
  });

  if (telegrafBinary === undefined) it("is not run with Telegraf, as TEST_TELEGRAF names no program");
  else
    it("counts the lines of two Telegrafs on one id, of which one is started again", async function () {
      this.timeout(180_000);
      const dirs = ["a", "b"].map((host) => configured(service, host));
      const running: Telegraf[] = [];
      try {
        for (const dir of dirs) running.push(await startTelegraf(dir, join(dir, "telegraf.conf")));
        const [a, b] = running as [Telegraf, Telegraf];
        await a.send([count("a", 1, 3), count("a", 2, 4), `cpu,dimension_id=web usage=1 ${AT}000000`]);
        await b.send([count("b", 1, 10).replace(" value", " latency=7.5,value")]);
        await until(`the sum of both; Telegraf: ${a.log()}${b.log()}`, async () => (await sum()) === 17, 60_000);
        expect(await a.stop()).to.equal(0);
        const again = await startTelegraf(dirs[0] as string, join(dirs[0] as string, "telegraf.conf"));
        running[0] = again;
        await again.send([count("a", 2, 4), count("a", 3, 0.5)]);
        await until(`the sum goes on; Telegraf: ${again.log()}`, async () => (await sum()) === 17.5, 60_000);
        expect(again.log()).to.not.match(/ E! |will be dropped/);
      } finally {
        for (const telegraf of running) await telegraf.stop();
      }
    });
});

/** A folder with the recipe, with another address and key, a host and an input. */
function configured(service: TestService, host: string): string {
  const dir = dataFolder();
  const output = recipe
    .replace('"http://127.0.0.1:8080"', JSON.stringify(service.url))
    .replace(/"\$\{KEY\}"/, JSON.stringify(service.key));
  const agent = `[agent]\n  hostname = "${host}"\n  flush_interval = "200ms"\n`;
  const input = `[[inputs.socket_listener]]\n  service_address = "unix://${socketIn(dir)}"\n  data_format = "influx"\n`;
  writeFileSync(join(dir, "telegraf.conf"), `${agent}\n${output}\n${input}`);
  return dir;
}
