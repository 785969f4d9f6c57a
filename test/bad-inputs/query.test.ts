import { expect } from "chai";
import { canary, expectAlive, refused } from "../support/bad-input.js";
import { startService, type TestService } from "../support/service.js";

const entity = "/api/entity/user/email/ann@example.com";
const metric = "/api/metric?dimension=segment&dimension_id=a&dimension_type=size";

describe("bad queries", () => {
  let service: TestService;
  before(async () => {
    service = await startService();
    await service.fetch("/collect/json/web", { method: "POST", json: { email: "ann@example.com", a: 1, b: 2 } });
  });
  after(() => service.stop());
  afterEach(() => expectAlive(service));

  const flags: [string, string[]][] = [
    [entity, ["segments", "meta", "download"]],
    [metric, ["smooth", "include_empty_rows"]],
  ];
  for (const [path, names] of flags) {
    const join = path.includes("?") ? "&" : "?";
    for (const name of names) {
      it(`${name} of ${path.split("?")[0]} is true or false, and given once`, async () => {
        for (const value of ["TRUE", "1", "0", "", "yes", "null", "true%20", canary]) {
          await refused(service, `${path}${join}${name}=${value}`, {}, 400);
        }
        await refused(service, `${path}${join}${name}`, {}, 400);
        await refused(service, `${path}${join}${name}=true&${name}=true`, {}, 400);
        expect((await service.fetch(`${path}${join}${name}=false`)).status).to.equal(200);
      });
    }
  }

  it("32 parameters are taken, 33 are 400", async () => {
    const more = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=${canary}`).join("&");
    expect((await service.fetch(`${entity}?${more(32)}`)).status).to.equal(200);
    await refused(service, `${entity}?${more(33)}`, {}, 400);
    expect((await service.fetch(`${metric}&${more(29)}`)).status).to.equal(200);
    await refused(service, `${metric}&${more(30)}`, {}, 400);
  });

  for (const name of [
    "dimension",
    "dimension_id",
    "interval",
    "range",
    "name",
    "fields",
    "completed",
    "limit",
    "table",
  ]) {
    it(`${name} given twice is 400`, async () => {
      const paths: Record<string, string> = {
        fields: `${entity}?fields=a&fields=b`,
        completed: "/api/deletion?completed=false&completed=false",
        limit: "/api/segment?limit=1&limit=2",
        table: "/collect/json/web?table=user&table=user",
      };
      const path = paths[name] ?? `${metric}&${name}=2h&${name}=2h`;
      const options = name === "table" ? { method: "POST", json: { email: "a@b.de" } } : {};
      await refused(service, path, options, 400);
    });
  }

  for (const fields of ["__proto__", "constructor", "$where", "a..b", "a.b", "*", "", ",", ",,,", "%00", "toString"]) {
    it(`fields=${fields} picks nothing and hides no segments`, async () => {
      const response = await service.fetch(`${entity}?fields=${fields}`);
      const { data } = (await response.json()) as { data: Record<string, unknown> };
      expect(response.status).to.equal(200);
      if (fields !== "") expect(Object.keys(data)).to.deep.equal(["segments"]);
    });
  }

  for (const extra of [
    "keyspace=x",
    "metric=x",
    "account_id=1",
    `${canary}=1`,
    "__proto__=1",
    "a[b]=1",
    "=",
    "&&",
    "%zz=1",
  ]) {
    it(`${extra} is ignored`, async () => {
      expect((await service.fetch(`${metric}&${extra}`)).status).to.equal(200);
      expect((await service.fetch(`${entity}?${extra}`)).status).to.equal(200);
    });
  }

  it("a value that is not percent-encoded UTF-8 is 400", async () => {
    for (const value of ["%", "%zz", "%ff", "%C0%AE", "%ED%A0%80"]) {
      await refused(service, `${metric}&name=${value}`, {}, 400);
      await refused(service, `${entity}?fields=${value}`, {}, 400);
    }
  });

  for (const value of ["a%0d%0aX-Evil:1", 'a"b', "../../x", "ü", "a;b=c"]) {
    it(`a download of ${value} has a fixed file name`, async () => {
      const written = value.includes("%0d") ? "plain" : value;
      const id = written.replaceAll("%", "%25");
      await service.fetch("/collect/json/web", { method: "POST", json: { user_id: written } });
      const response = await service.fetch(`/api/entity/user/user_id/${encodeURIComponent(id)}?download=true`);
      expect(response.status).to.equal(200);
      expect(response.headers.get("content-disposition")).to.equal('attachment; filename="user.json"');
    });
  }

  it("a download that fails is no file", async () => {
    const response = await service.fetch("/api/entity/user/user_id/nobody-at-all?download=true");
    expect(response.status).to.equal(404);
    expect(response.headers.get("content-disposition")).to.equal(null);
    expect(response.headers.get("cache-control")).to.equal("no-store");
  });
});
