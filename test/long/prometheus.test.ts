import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { freePort } from "../support/free-port.js";
import { pointOf, writePoints } from "../support/requests.js";
import { adminKey, startService, type TestService } from "../support/service.js";
import { root } from "../support/source-tree.js";
import { until } from "../support/until.js";

/** The answers of a Prometheus: undefined while there is none. */
interface Prometheus {
  /** The first value of a query. */
  latest(query: string): Promise<string | undefined>;
  /** The labels of the series that a selector selects. */
  series(selector: string): Promise<readonly Readonly<Record<string, string>>[] | undefined>;
  fires(alert: string): Promise<boolean>;
}

describe("a Prometheus that scrapes the service", function () {
  this.timeout(180_000);
  if (spawnSync("prometheus", ["--version"]).error !== undefined) {
    it("not run: prometheus was not found");
    return;
  }

  /** Runs a Prometheus with the files in deploy, which scrapes the service every second and waits before no alert. */
  async function scraping(service: TestService, work: (prometheus: Prometheus) => Promise<void>): Promise<void> {
    const dir = dataFolder();
    const port = await freePort();
    const file = (name: string) => readFileSync(join(root, "deploy/prometheus", name), "utf8");
    writeFileSync(join(dir, "entity-metrics.key"), adminKey);
    for (const name of ["rules.yml", "series-rules.yml"])
      writeFileSync(join(dir, name), file(name).replaceAll("for: 5m", "for: 1s"));
    const config = file("prometheus.yml").replaceAll("127.0.0.1:8080", new URL(service.url).host);
    writeFileSync(join(dir, "prometheus.yml"), config.replaceAll(/: (15s|1m)$/gm, ": 1s"));
    const args = [`--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`];
    const prometheus = spawn("prometheus", [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: "ignore" });
    const ended = once(prometheus, "close");
    const ask = async <T>(path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined);
      return answer?.ok ? ((await answer.json()) as { data: T }).data : undefined;
    };
    const latest = async (query: string) =>
      (await ask<{ result: { value: [number, string] }[] }>(`query?query=${encodeURIComponent(query)}`))?.result[0]
        ?.value[1];
    const fires = async (alert: string) => {
      const answer = await ask<{ alerts: { labels: { alertname: string }; state: string }[] }>("alerts");
      return answer?.alerts.some(({ labels, state }) => labels.alertname === alert && state === "firing") ?? false;
    };
    const series = (selector: string) =>
      ask<readonly Readonly<Record<string, string>>[]>(`series?match[]=${encodeURIComponent(selector)}`);
    try {
      await until("everything is scraped", async () => (await latest('sum(up{job=~"entity.*"})')) === "2", 30_000);
      await work({ latest, fires, series });
    } finally {
      prometheus.kill();
      await ended;
      await service.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  }

  it("reads its metrics with the key in the file, and fires the alert of a failing deletion", async () => {
    const targets = [
      { name: "crm", url: `http://127.0.0.1:${await freePort()}`, token: "a-secret-of-these-two-alone" },
    ];
    const service = await startService({ deletions: { targets } });
    await scraping(service, async ({ latest, fires }) => {
      expect(await latest("entity_metrics_deletions_open")).to.equal("0");
      await service.fetch("/api/entity/user/_uid/u-1", { method: "DELETE" });
      await until("the alert fires", () => fires("DeletionStuck"), 120_000);
    });
  });

  it("has the series that /federate selects for the same selector, and fires the alert of an empty segment", async () => {
    const service = await startService();
    const now = Date.now();
    await service.fetch("/collect/json/web", { method: "POST", json: { _uid: "u-1", segments: ["beta", "news"] } });
    await service.fetch("/api/segment/beta", { method: "PUT", json: { name: 'Beta "1"\\ ü' } });
    await service.fetch("/api/experience/x", { method: "PUT", json: { audience: "news", goal: "beta", group: "g" } });
    const size = (value: number, ts: number) => pointOf("segment", "beta", value, ts);
    await writePoints(service, [
      size(7, now),
      pointOf("stream", "web", 3, now - 3_600_000),
      pointOf("experience", "x", 8, now, "potentialreach"),
      pointOf("experience", "y", 8, now, "potentialreach"),
      pointOf("experiencegroup", "g", 8, now, "potentialreach"),
    ]);
    await scraping(service, async ({ latest, fires, series }) => {
      await until("its size is scraped", async () => (await latest("entity_metrics_segment_size")) === "7", 30_000);
      for (const selector of [
        '{__name__=~"entity_metrics_(segment|experience|stream).+"}',
        '{name="Beta \\"1\\"\\\\ ü"}',
        "{name=~'Beta .*\\\\\\\\ \u00fc'}",
        '{name=~`(?i)beta "\\d"\\W+`,}',
        '{__name__=~"entity_metrics_experience.*",group=""}',
        "entity_metrics_experience_potential_reach{experience!='x'}",
        '{experience=~"x|y", group!~".+"}',
        '{experience=~".*",stream="web"}',
        '{experience=~"[[:alpha:]]{1}",__name__!~".*rate"}',
        '{segment="nothing"}',
      ]) {
        const shown = await service.fetch(`/federate?match[]=${encodeURIComponent(selector)}`);
        const lines = (await shown.text()).split("\n").filter((line) => /^entity_metrics_(?!slot)/.test(line));
        const held = (await series(selector))?.map(({ __name__, instance, job, ...labels }) => {
          const texts = Object.entries(labels).map(([name, text]) => `${name}=${JSON.stringify(text)}`);
          return `${__name__}{${texts.sort().join()}}`;
        });
        const sorted = lines.map((line) => {
          const [, name, labels = ""] = /^(\w+)\{(.*)\} /.exec(line) ?? [];
          return `${name}{${(labels.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? []).sort().join()}}`;
        });
        expect(sorted.sort(), selector).to.deep.equal(held?.sort());
      }
      await writePoints(service, [size(0, now)]);
      await until("the alert fires", () => fires("SegmentEmpty"), 60_000);
    });
  });
});
