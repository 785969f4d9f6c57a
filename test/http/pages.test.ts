import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";

describe("pages for people", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  for (const path of ["/", "/docs", "/dashboard"]) {
    it(`${path} needs no key, loads nothing from elsewhere and says so`, async () => {
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

  it("/docs is made of files that are there", async () => {
    const html = await (await service.fetch("/docs", { key: null })).text();
    const files = [...html.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, file]) => file);
    expect(files).to.have.length.above(3);
    for (const file of files) expect((await service.fetch(`/${file}`, { key: null })).status, file).to.equal(200);
  });

  it("/docs keeps the key in the tab, not in the browser", async () => {
    const script = await (await service.fetch("/docs/docs.js", { key: null })).text();
    expect(script).to.include("sessionStorage").and.not.include("localStorage");
  });

  it("/dashboard is made of scripts that are there, and so are the ones that they import; what a view needs is small", async () => {
    const html = await (await service.fetch("/dashboard?view=explore&series=a&series=b", { key: null })).text();
    const found = new Map<string, number>();
    const follow = async (path: string) => {
      if (found.has(path)) return;
      const response = await service.fetch(path, { key: null });
      expect(response.status, path).to.equal(200);
      const text = await response.text();
      found.set(path, text.length);
      if (path.includes("uplot")) return;
      const imported = [
        ...text.matchAll(/^(?:import|export) .* from "(\..*?)";$/gm),
        ...text.matchAll(/ import\("(.*?)"\)/g),
      ];
      for (const [, name = ""] of imported) await follow(new URL(name, new URL(path, "http://a")).pathname);
    };
    for (const [, file] of html.matchAll(/(?:src|href)="(dashboard\/[^"]+)"/g)) await follow(`/${file}`);
    const bytes = (of: RegExp) => [...found].reduce((sum, [path, length]) => sum + (of.test(path) ? length : 0), 0);
    expect(found).to.have.property("size").above(15);
    // What every view shares, and what the largest of them load besides.
    const shared = bytes(/\/page\/(main|dom|address|format|fetch-series|chart)\.js$/);
    const ofLists = bytes(/\/page\/(lists|first-steps|last-days)\.js$/);
    const views = [bytes(/\/page\/erasure\.js$/), bytes(/\/page\/explore\.js$/)];
    for (const view of ["overview", "segments", "streams", "experiences"])
      views.push(ofLists + bytes(new RegExp(`/page/${view}\\.js$`)));
    expect(Math.max(...views)).to.be.above(5_000);
    expect(shared + Math.max(...views)).to.be.within(20_000, 40_000);
    expect(bytes(/\/client\/.*\.js$/)).to.be.within(5_000, 16_000);
  });

  it("nothing but those files is served", async () => {
    for (const file of [
      "package.json",
      "index.html",
      "swagger-ui.js",
      "..%2fpackage.json",
      "__proto__",
      "constructor",
    ]) {
      for (const folder of ["docs", "dashboard/page", "dashboard/client", "dashboard/..%2f"]) {
        const response = await service.fetch(`/${folder}/${file}`, { key: null });
        expect(response.status, file).to.equal(404);
        expect(await response.json()).to.include({ status: 404 });
      }
    }
  });
});
