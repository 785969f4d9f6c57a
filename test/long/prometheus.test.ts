import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { dataFolder } from "../support/data-folder.js";
import { freePort } from "../support/free-port.js";
import { adminKey, startService } from "../support/service.js";
import { root } from "../support/source-tree.js";
import { until } from "../support/until.js";

describe("a Prometheus that scrapes the service", function () {
  this.timeout(180_000);
  if (spawnSync("prometheus", ["--version"]).error !== undefined) {
    it("not run: prometheus was not found");
    return;
  }

  it("reads its metrics with the key in the file, and fires the alert of a failing deletion", async () => {
    const dir = dataFolder();
    const [port, closed] = [await freePort(), await freePort()];
    const targets = [{ name: "crm", url: `http://127.0.0.1:${closed}`, token: "a-secret-of-these-two-alone" }];
    const service = await startService({ deletions: { targets } });
    const file = (name: string) => readFileSync(join(root, "deploy/prometheus", name), "utf8");
    writeFileSync(join(dir, "entity-metrics.key"), adminKey);
    writeFileSync(join(dir, "rules.yml"), file("rules.yml").replace("for: 5m", "for: 1s"));
    writeFileSync(
      join(dir, "prometheus.yml"),
      file("prometheus.yml").replace("127.0.0.1:8080", new URL(service.url).host).replaceAll("15s", "1s"),
    );
    const args = [`--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`];
    const prometheus = spawn("prometheus", [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: "ignore" });
    const ended = once(prometheus, "close");
    const ask = async <T>(path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined);
      return answer?.ok ? ((await answer.json()) as { data: T }).data : undefined;
    };
    const latest = async (name: string) =>
      (await ask<{ result: { value: [number, string] }[] }>(`query?query=${name}`))?.result[0]?.value[1];
    try {
      await until("the process is scraped", async () => (await latest("up")) === "1", 30_000);
      expect(await latest("entity_metrics_deletions_open")).to.equal("0");
      await service.fetch("/api/entity/user/_uid/u-1", { method: "DELETE" });
      await until(
        "the alert fires",
        async () => {
          const answer = await ask<{ alerts: { labels: { alertname: string }; state: string }[] }>("alerts");
          return (
            answer?.alerts.some(({ labels, state }) => labels.alertname === "DeletionStuck" && state === "firing") ??
            false
          );
        },
        120_000,
      );
    } finally {
      prometheus.kill();
      await ended;
      await service.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
