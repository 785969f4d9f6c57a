import { expect } from "chai";
import type { Dimension } from "../../src/dashboard/dimensions.js";
import { dimensions } from "../../src/metrics/dimensions.js";
import { typesOf } from "../../src/metrics/query/request.js";
import { serviceOfSuite } from "../support/service.js";

describe("the page", () => {
  const service = serviceOfSuite();

  for (const path of ["/", "/docs", "/dashboard"]) {
    it(`at ${path} needs no key, loads nothing from other hosts, and its policy forbids it`, async () => {
      const response = await service.fetch(path, { key: null });
      expect(response.status).to.equal(200);
      expect(response.headers.get("content-type")).to.match(/^text\/html/);
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy)
        .to.include("default-src 'none'")
        .and.not.match(/https?:|\*/);
      expect(await response.text()).to.not.match(/(src|href)="(https?:)?\/\//);
    });
  }

  it("at /dashboard has a policy that allows only its own scripts, styles, requests and images", async () => {
    const response = await service.fetch("/dashboard", { key: null });
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy.split(";")).to.deep.equal([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' blob:",
      "frame-ancestors 'none'",
    ]);
    expect(response.headers.get("referrer-policy")).to.equal("no-referrer");
  });

  it("at /docs loads files that are served", async () => {
    const html = await (await service.fetch("/docs", { key: null })).text();
    const files = [...html.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, file]) => file);
    expect(files).to.have.length.above(3);
    for (const file of files) expect((await service.fetch(`/${file}`, { key: null })).status, file).to.equal(200);
  });

  it("at /dashboard loads and imports only scripts that are served", async () => {
    const html = await (await service.fetch("/dashboard?view=explore&series=a&series=b", { key: null })).text();
    const found = new Set<string>();
    const follow = async (path: string) => {
      if (found.has(path)) return;
      found.add(path);
      const response = await service.fetch(path, { key: null });
      expect(response.status, path).to.equal(200);
      const imported = (await response.text()).matchAll(/(?:from|import)\s*\(?"(\.\/[^"]+\.js)"/g);
      for (const [, name = ""] of imported) await follow(new URL(name, new URL(path, "http://a")).pathname);
    };
    for (const [, file] of html.matchAll(/(?:src|href)="(dashboard\/[^"]+)"/g)) await follow(`/${file}`);
    expect(found).to.have.property("size").above(15);
    expect([...found].filter((path) => path.includes("uplot"))).to.have.length(1);
  });

  it("at /dashboard contains the identity fields of every table, and the slots and types of every dimension", async () => {
    const html = await (await service.fetch("/dashboard", { key: null })).text();
    const read = (name: string) =>
      JSON.parse((new RegExp(`data-${name}="([^"]*)"`).exec(html)?.[1] ?? "").replaceAll("&quot;", '"'));
    expect(read("tables").user).to.deep.equal(["_uid", "user_id", "email"]);
    const shown: Dimension[] = read("dimensions");
    expect(
      shown.map(({ name, slotMs, types }) => ({ name, slotMs, types: types.map((type) => type.name) })),
    ).to.deep.equal(dimensions.map((one) => ({ name: one.name, slotMs: one.slotMs, types: typesOf(one) })));
  });

  it("of any other name is 404, also for a name with ..", async () => {
    for (const file of [
      "package.json",
      "index.html",
      "swagger-ui.js",
      "..%2fpackage.json",
      "__proto__",
      "constructor",
    ]) {
      for (const folder of ["docs", "dashboard", "dashboard/..%2f"]) {
        const response = await service.fetch(`/${folder}/${file}`, { key: null });
        expect(response.status, file).to.equal(404);
        expect(await response.json()).to.include({ status: 404 });
      }
    }
  });
});
