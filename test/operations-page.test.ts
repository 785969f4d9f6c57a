import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { plans } from "../src/stores/mongodb/index.js";
import { startService } from "./support/service.js";
import { root } from "./support/source-tree.js";

describe("docs/operations.md and docs/service-metrics.md", () => {
  const page = readFileSync(join(root, "docs/operations.md"), "utf8");
  const metricsPage = readFileSync(join(root, "docs/service-metrics.md"), "utf8");
  const rulesIn = (name: string) => readFileSync(join(root, "deploy/prometheus", name), "utf8");
  const rules = rulesIn("rules.yml");
  let served: Set<string>;
  before(async () => {
    const service = await startService();
    const text = await (await service.fetch("/metrics")).text();
    await service.stop();
    served = new Set([...text.matchAll(/^# TYPE (entity_metrics_\w+)/gm)].map(([, name = ""]) => name));
  });

  /** Names of metrics in a text, without the suffixes of histograms. */
  const namesIn = (text: string) =>
    new Set(
      [...text.matchAll(/entity_metrics_(?!ledger)\w+/g)].map(([name]) => name.replace(/_(bucket|count|sum)$/, "")),
    );

  it("name every metric of the service, and no other", () => {
    expect([...namesIn(metricsPage)].sort()).to.deep.equal([...served].sort());
  });

  it("name the same metrics as the alerts of rules.yml", () => {
    expect([...namesIn(rules)].sort()).to.deep.equal([...served].sort());
  });

  it("docs/prometheus.md lists every alert with its severity, in the order of both files of rules", () => {
    const prometheus = readFileSync(join(root, "docs/prometheus.md"), "utf8");
    const listed = [...prometheus.matchAll(/^\| (`.*?) \| (page|ticket) \|/gm)].flatMap(([, names = "", severity]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${name} ${severity}`),
    );
    const alerts = [...`${rules}${rulesIn("series-rules.yml")}`.matchAll(/alert: (\w+)[\s\S]*?severity: (\w+)/g)];
    expect(listed).to.deep.equal(alerts.map(([, name, severity]) => `${name} ${severity}`));
  });

  it("name every collection of both databases, and no other", () => {
    const [, ofData = "", ofLedger = ""] = page.split(/^\| collection of .*\n/m);
    const namesIn = (text: string) => {
      const rows = text.slice(0, text.indexOf("\n\n")).matchAll(/^\| (`.*?) \|/gm);
      return [...rows].flatMap(([, names = ""]) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name)).sort();
    };
    const namesOf = (all: readonly { name: string }[]) => [...new Set(all.map(({ name }) => name))].sort();
    expect(namesIn(ofData)).to.deep.equal(namesOf(plans.data));
    expect(namesIn(ofLedger)).to.deep.equal(namesOf(plans.ledger));
  });
});
