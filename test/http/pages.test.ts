import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";

describe("pages for people", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  for (const path of ["/", "/docs"]) {
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

  it("nothing but those files is served", async () => {
    for (const file of [
      "package.json",
      "index.html",
      "swagger-ui.js",
      "..%2fpackage.json",
      "__proto__",
      "constructor",
    ]) {
      const response = await service.fetch(`/docs/${file}`, { key: null });
      expect(response.status, file).to.equal(404);
      expect(await response.json()).to.include({ status: 404 });
    }
  });
});
