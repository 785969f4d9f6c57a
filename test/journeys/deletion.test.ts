import { expect } from "chai";
import { ownTargets } from "../contracts/downstream-target.contract.js";
import { deleteEntity, deletionStatus, removeThrough } from "../support/requests.js";
import { serviceOfSuite, startService } from "../support/service.js";
import { until } from "../support/until.js";

describe("the response to a DELETE", () => {
  const service = serviceOfSuite();

  const remove = (path: string) => deleteEntity(service, path);
  const status = (id: string) => deletionStatus(service, id);

  it("has a request id whose status becomes completed", async () => {
    const accepted = await remove("user/email/ben@example.org");
    const id = accepted.body.data.request_id;
    expect(id).to.match(/^[0-9a-f]{20}-[0-9]+$/);
    const bodyWith = (completed: boolean) => ({
      status: 200,
      message: "Delete request received",
      data: { request_id: id, completed },
    });
    expect(accepted.body).to.deep.equal(bodyWith(false));
    const first = await status(id);
    for (const { response } of [accepted, first]) {
      expect([response.status, response.headers.get("cache-control")]).to.deep.equal([200, "no-store"]);
    }
    expect(first.body).to.be.deep.oneOf([bodyWith(false), bodyWith(true)]);
    await until("it is complete", async () => (await status(id)).body.data.completed);
    expect((await status(id)).body).to.deep.equal(bodyWith(true));
  });

  it("has the same bytes except the id for known and unknown identities, also if it is repeated (P22)", async () => {
    const collected = await service.fetch("/collect/json/web?table=user", {
      method: "POST",
      json: { email: "known@example.org", user_id: "known-1", plan: "gold" },
    });
    expect(collected.status).to.equal(200);
    const answers: string[] = [];
    const headers: object[] = [];
    for (const path of [
      "email/known@example.org",
      "email/nobody@example.org",
      "email/known@example.org",
      "user_id/known-1",
    ]) {
      const response = await service.fetch(`/api/entity/user/${path}`, { method: "DELETE" });
      answers.push((await response.text()).replace(/[0-9a-f]{20}-[0-9]+/, "ID"));
      const { "x-request-id": _, date: __, ...rest } = Object.fromEntries(response.headers);
      headers.push(rest);
    }
    expect(new Set(answers).size).to.equal(1);
    for (const other of headers) expect(other).to.deep.equal(headers[0]);
  });
});

describe("the list of open deletions", () => {
  const service = serviceOfSuite({
    deletions: { targets: [{ name: "crm", url: "http://127.0.0.1:9/hooks", token: "secret" }] },
  });

  interface Listed {
    data: {
      request_id: string;
      stage: string;
      attempts: number;
      stuck: boolean;
      problem: string | null;
      accepted_at: string;
      next_try_at: string | null;
      targets?: { name: string; erased_at: string | null; verified_at: string | null }[];
    }[];
    meta: { next: string | null };
  }
  const list = async (query: string) => {
    const response = await service.fetch(`/api/deletion${query}`);
    expect(response.status).to.equal(200);
    return (await response.json()) as Listed;
  };
  const one = async (id: string) => {
    const response = await service.fetch(`/api/deletion/${id}`);
    expect(response.status).to.equal(200);
    return ((await response.json()) as { data: Listed["data"][0] }).data;
  };
  const erase = (name: string) => removeThrough(service, `email/${name}@example.org`);
  const isoMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

  it("contains the start of each request, the target it waits for and the reason, but no identity", async () => {
    const ids: string[] = [];
    for (const name of ["ann", "ben", "cleo"]) ids.unshift(await erase(name));
    await until("they are stuck", async () => (await list("")).data.every(({ stuck }) => stuck));
    const { data, meta } = await list("?state=open");
    expect(data.map(({ request_id }) => request_id)).to.deep.equal(ids);
    expect(meta.next).to.equal(null);
    for (const item of data) {
      expect(item).to.have.all.keys(
        "request_id",
        "accepted_at",
        "due_at",
        "cut_off",
        "completed_at",
        "stage",
        "attempts",
        "stuck",
        "problem",
        "next_try_at",
      );
      expect(item).to.include({ stage: "crm", stuck: true, problem: "crm is unreachable", completed_at: null });
      expect(item.attempts).to.be.at.least(3);
      expect(item.accepted_at).to.match(isoMs);
      expect(item.next_try_at).to.match(isoMs);
    }
    expect(JSON.stringify(data)).to.not.match(/ann@|example/);
    const first = await list("?limit=2");
    expect(first.data.map(({ request_id }) => request_id)).to.deep.equal(ids.slice(0, 2));
    const rest = await list(`?limit=2&after=${first.meta.next}`);
    expect(rest.data.map(({ request_id }) => request_id)).to.deep.equal(ids.slice(2));
    expect((await list("?state=completed")).data).to.deep.equal([]);
    expect((await list("?state=all")).data).to.have.length(3);
    expect((await list(`?after=${"0".repeat(20)}-1`)).data).to.deep.equal([]);
  });

  it("contains the state of each target of a request", async () => {
    const [first] = (await list("")).data;
    const { targets = [], ...item } = await one(first?.request_id ?? "");
    expect(item).to.include({ request_id: first?.request_id, stage: "crm" });
    expect(targets.map(({ name }) => name)).to.deep.equal([...ownTargets, "crm"]);
    for (const own of targets.slice(0, -1)) expect(own.erased_at).to.match(isoMs);
    expect(targets.at(-1)).to.deep.equal({ name: "crm", erased_at: null, verified_at: null });
    for (const id of ["x", `${"0".repeat(20)}-1`, "%00"]) {
      const { status } = await service.fetch(`/api/deletion/${id}`);
      expect(status, id).to.equal(id === "%00" ? 400 : 404);
    }
  });

  it("contains requests that can be retried at once", async () => {
    const [first] = (await list("")).data;
    const id = first?.request_id ?? "";
    const before = (await one(id)).attempts;
    const response = await service.fetch(`/api/deletion/${id}/retry`, { method: "POST" });
    expect(response.status).to.equal(200);
    expect(((await response.json()) as { data: object }).data).to.include({ request_id: id, completed_at: null });
    await until("it was tried", async () => (await one(id)).attempts > before);
    expect((await service.fetch(`/api/deletion/${"0".repeat(20)}-1/retry`, { method: "POST" })).status).to.equal(404);
  });

  it("is filtered by state and by target, and all requests that wait for a target can be retried at once", async () => {
    const { data, meta } = await list("?state=stuck&target=crm&order=asc");
    expect(data.map(({ stage }) => stage)).to.deep.equal(["crm", "crm", "crm"]);
    expect(meta).to.deep.equal({ next: null, total: 3, targets: ["crm"] });
    expect((await list("?target=erp")).meta).to.deep.equal({ next: null, total: 0, targets: ["crm"] });
    const before = new Map(data.map(({ request_id, attempts }) => [request_id, attempts]));
    const retry = async (target: string) => {
      const response = await service.fetch("/api/deletion/retry", { method: "POST", json: { target } });
      return ((await response.json()) as { data: { retried: number } }).data.retried;
    };
    expect([await retry("erp"), (await retry("crm")) > 0]).to.deep.equal([0, true]);
    await until("all were tried", async () =>
      (await list("")).data.every(({ request_id, attempts }) => attempts > (before.get(request_id) ?? 0)),
    );
  });
});

describe("completed deletions", () => {
  it("are listed with the times of their targets, and cannot be retried", async () => {
    const service = await startService();
    await service.fetch("/collect/json/web", { method: "POST", json: { email: "ann@example.org", segments: ["a"] } });
    const request_id = await removeThrough(service, "email/ann@example.org");
    const completed = async () =>
      ((await (await service.fetch("/api/deletion?state=completed")).json()) as { data: { request_id: string }[] })
        .data;
    await until("it is completed", async () => (await completed()).length > 0);
    expect(await completed()).to.have.length(1);
    const { data } = (await (await service.fetch(`/api/deletion/${request_id}`)).json()) as {
      data: Record<string, string> & { targets: { erased_at: string; verified_at: string }[] };
    };
    expect(data).to.include({ request_id, stage: "complete", stuck: false, problem: null, next_try_at: null });
    for (const { erased_at, verified_at } of data.targets) {
      expect(erased_at >= (data.accepted_at ?? "")).to.equal(true);
      expect(verified_at >= erased_at && verified_at <= (data.completed_at ?? "")).to.equal(true);
    }
    expect(data.targets).to.have.length(ownTargets.length);
    const retry = await service.fetch(`/api/deletion/${request_id}/retry`, { method: "POST" });
    expect(retry.status).to.equal(409);
  });
});
