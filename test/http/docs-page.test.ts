import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";

interface Options {
  readonly operationsSorter: (a: Map<string, string>, b: Map<string, string>) => number;
  readonly requestInterceptor: (request: Sent) => Sent;
  readonly plugins: (() => { afterLoad(this: { fn: Functions }): void })[];
}

interface Sent {
  readonly url: string;
  readonly headers: Record<string, string>;
}

interface Functions {
  getSampleSchema(schema: unknown, type: string): string;
}

describe("/docs", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
  });
  after(() => service.stop());

  const text = async (path: string) => (await service.fetch(path, { key: null })).text();

  it("has one field for the key: that of Swagger UI is hidden", async () => {
    expect([...(await text("/docs")).matchAll(/<input/g)]).to.have.length(1);
    const style = await text("/docs/docs.css");
    const hidden = [...style.matchAll(/([^{}]*)\{ display: none; \}/g)].map(([, selectors]) => selectors).join();
    expect(hidden).to.include(".scheme-container").and.include(".authorization__btn");
  });

  it("follows the system between dark and light, also while it is open", async () => {
    const page = await opened();
    expect(page.classes.has("dark-mode")).to.equal(false);
    page.setDark(true);
    expect(page.classes.has("dark-mode")).to.equal(true);
    page.setDark(false);
    expect(page.classes.has("dark-mode")).to.equal(false);
    expect((await opened({ dark: true })).classes.has("dark-mode")).to.equal(true);
  });

  it("lists what reads before what writes, and what removes last", async () => {
    const { operationsSorter } = (await opened()).options;
    const operations = ["delete /a", "post /api/metric/points", "put /a", "get /b", "post /api/metric", "get /a"];
    const asMap = (operation: string) =>
      new Map([
        ["method", operation.split(" ")[0] as string],
        ["path", operation.split(" ")[1] as string],
      ]);
    expect(operations.sort((a, b) => operationsSorter(asMap(a), asMap(b)))).to.deep.equal([
      "get /a",
      "get /b",
      "post /api/metric",
      "post /api/metric/points",
      "put /a",
      "delete /a",
    ]);
  });

  it("proposes lines of JSON as they are, not as a quoted text", async () => {
    const { plugins } = (await opened()).options;
    const fn: Functions = { getSampleSchema: (_, type) => type };
    for (const plugin of plugins) plugin().afterLoad.call({ fn });
    expect(fn.getSampleSchema({}, "application/x-ndjson")).to.equal("text/plain");
    expect(fn.getSampleSchema({}, "application/json")).to.equal("application/json");
  });

  it("sends the key to this service alone", async () => {
    const page = await opened();
    const sent = (url: string) => page.options.requestInterceptor({ url, headers: {} }).headers.Authorization;
    expect(sent("/api/metric")).to.equal(undefined);
    page.enterKey(" em_a_b ");
    expect(sent("/api/metric")).to.equal("em_a_b");
    expect(sent("https://elsewhere.example/api/metric")).to.equal(undefined);
  });

  /** The page's own script, run in as much of a browser as it asks for. */
  async function opened({ dark = false } = {}) {
    const classes = new Set<string>();
    const stored = new Map<string, string>();
    const listeners = new Map<string, () => void>();
    const field = { value: "", addEventListener: (_: string, listener: () => void) => listeners.set("key", listener) };
    const form = { addEventListener: () => {} };
    const system = {
      matches: dark,
      addEventListener: (_: string, listener: () => void) => listeners.set("system", listener),
    };
    const toggle = (name: string, on: boolean) => (on ? classes.add(name) : classes.delete(name));
    const shown: Options[] = [];
    runInNewContext(await text("/docs/docs.js"), {
      URL,
      window: {},
      location: { href: `${service.url}/docs`, origin: service.url },
      matchMedia: (query: string) => (query === "(prefers-color-scheme: dark)" ? system : undefined),
      sessionStorage: {
        getItem: (name: string) => stored.get(name) ?? null,
        setItem: (name: string, value: string) => stored.set(name, value),
      },
      document: {
        documentElement: { classList: { toggle } },
        getElementById: (id: string) => ({ key: field, "key-form": form })[id],
      },
      SwaggerUIBundle: (options: Options) => shown.push(options),
    });
    return {
      classes,
      options: shown[0] as Options,
      setDark(on: boolean) {
        system.matches = on;
        listeners.get("system")?.();
      },
      enterKey(key: string) {
        field.value = key;
        listeners.get("key")?.();
      },
    };
  }
});
