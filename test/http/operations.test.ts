import { Writable } from "node:stream";
import { expect } from "chai";
import { pino } from "pino";
import type { Route } from "../../src/http/core/route.js";
import { operationRoutes } from "../../src/http/operations/index.js";
import { type Meters, openMeters, type Probe } from "../../src/meters.js";
import { gaugeOf, pointOf, writePoints } from "../support/requests.js";
import { serveRoutes } from "../support/routes-alone.js";
import { serviceOfSuite, startService } from "../support/service.js";

describe("for an operator,", () => {
  const lines: string[] = [];

  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const service = serviceOfSuite({}, { log: pino({ level: "debug" }, sink) });

  it("/health reports that the service is alive, in the format of InfluxDB's health check", async () => {
    const response = await service.fetch("/health", { key: null });
    expect(response.status).to.equal(200);
    expect(response.headers.get("cache-control")).to.equal("no-store");
    expect(await response.json()).to.deep.equal({
      name: "entity-metrics",
      status: "pass",
      message: "success",
      data: { alive: true },
    });
  });

  it("/ready reports version, roles and each store", async () => {
    const { data } = (await (await service.fetch("/ready", { key: null })).json()) as { data: Ready };
    expect(data.ready).to.equal(true);
    expect(data.degraded).to.equal(false);
    expect(data.version).to.match(/^\d+\.\d+\.\d+/);
    expect(data.roles).to.deep.equal(["api", "worker"]);
    expect(data.stores.map(({ name }) => name)).to.include.members(["ledger", "entities", "metrics"]);
  });

  const away = { check: () => Promise.reject(new Error("away")) };
  const there = { check: () => Promise.resolve(undefined) };
  const probed: [string, Probe[], number, Partial<Ready>][] = [
    ["a required store is unreachable", [{ name: "a", required: true, ...away }], 503, { ready: false }],
    [
      "only an optional store is unreachable",
      [
        { name: "a", required: true, ...there },
        { name: "b", required: false, ...away },
      ],
      200,
      { ready: true, degraded: true },
    ],
    [
      "a store is degraded",
      [{ name: "a", required: true, check: () => Promise.resolve("almost full") }],
      200,
      { ready: true, degraded: true },
    ],
  ];
  for (const [name, probes, status, expected] of probed) {
    it(`/ready is ${status} if ${name}`, async () => {
      const answer = await answerOf(probes);
      expect(answer.status).to.equal(status);
      expect(answer.body.data).to.deep.include(expected);
      expect(JSON.stringify(answer.body)).to.not.include("Error");
    });
  }

  it("/metrics contains the version, the state of each store and the accepted points, and only counters end in _total", async () => {
    const points = [1, 2].map((value) => pointOf("stream", "web", value, 1_700_000_000_000 + value * 3_600_000));
    await writePoints(service, points);
    await service.fetch("/api/metric/points", { method: "POST", json: [{ ...points[0], value: "no" }] });
    await service.fetch("/api/v2/write", { method: "POST", body: "stream,dimension_id=web value=3" });
    await service.fetch("/collect/json/web", {
      method: "POST",
      json: [{ _uid: "u-1" }, { _uid: "u-2" }, { city: "Oslo" }],
    });
    await service.fetch("/collect/json/web?dryrun=true", { method: "POST", json: [{ _uid: "u-3" }] });
    const text = await (await service.fetch("/metrics")).text();
    expect(text).to.match(/^entity_metrics_build_info\{version="\d+\.\d+\.\d+"\} 1$/m);
    for (const store of ["ledger", "entities", "metrics"]) {
      expect(text).to.include(`entity_metrics_store_state{store="${store}",state="up"} 1\n`);
      expect(text).to.include(`entity_metrics_store_state{store="${store}",state="down"} 0\n`);
    }
    expect(text).to.include("entity_metrics_points_taken_total 3\n");
    expect(text).to.include("entity_metrics_messages_taken_total 2\n");
    expect(text).to.include('entity_metrics_recorder_slots_missed_total{dimension="segment"} 0\n');
    for (const [line, name = "", type] of text.matchAll(/^# TYPE (\S+) (\w+)$/gm)) {
      expect(type === "counter", line).to.equal(name.endsWith("_total"));
    }
  });

  it("/metrics contains the age of the oldest open deletion", async () => {
    const target = { name: "crm", url: "http://127.0.0.1:9/hooks", token: "secret" };
    let now = Date.UTC(2026, 0, 2, 12);
    const waiting = await startService({ deletions: { targets: [target] } }, { clock: () => now });
    const age = () => gaugeOf(waiting, "deletions_oldest_open_seconds");
    expect(await age()).to.equal(0);
    for (const name of ["u-1", "u-2"]) {
      await waiting.fetch(`/api/entity/user/_uid/${name}`, { method: "DELETE" });
      now += 3_600_000;
    }
    expect(await age()).to.be.closeTo(7200, 1);
  });

  it("/metrics reports which store is down, and which one is degraded", async () => {
    const probes: Probe[] = [
      { name: "a", required: true, ...away },
      { name: "b", required: false, check: () => Promise.resolve("almost full") },
    ];
    const meters = openMeters();
    routesOver(probes, meters);
    const shown = (await meters.text()).match(/^entity_metrics_store_state\S+ 1$/gm);
    expect(shown).to.deep.equal([
      'entity_metrics_store_state{store="a",state="down"} 1',
      'entity_metrics_store_state{store="b",state="degraded"} 1',
    ]);
  });

  it("/metrics counts requests by route pattern, and contains no identity", async () => {
    await service.fetch("/api/entity/user/email/zqcanaryqz@example.com?fields=zqcanaryqz");
    await service.fetch("/zqcanaryqz");
    const response = await service.fetch("/metrics");
    expect(response.headers.get("content-type")).to.match(/^text\/plain/);
    const text = await response.text();
    expect(text).to.include('route="/api/entity/:table/:fieldname/:fieldval"');
    expect(text).to.include("entity_metrics_http_requests_under_way 0");
    expect(text).to.not.include("zqcanaryqz");
  });

  it("a log line contains route, status and request id, and neither address, key nor identity", async () => {
    lines.length = 0;
    const response = await service.fetch("/api/entity/user/email/zqcanaryqz@example.com?fields=zqcanaryqz");
    await response.arrayBuffer();
    const line = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === "answered");
    expect(line).to.include({
      method: "GET",
      route: "/api/entity/:table/:fieldname/:fieldval",
      status: response.status,
    });
    expect(line.requestId).to.equal(response.headers.get("x-request-id"));
    expect(line.ms).to.be.a("number");
    expect(lines.join()).to.not.include("zqcanaryqz").and.not.include(service.key);
  });
});

interface Ready {
  readonly ready: boolean;
  readonly degraded: boolean;
  readonly version: string;
  readonly roles: string[];
  readonly stores: { name: string }[];
}

/** The operational routes of a service with these stores. */
function routesOver(probes: Probe[], meters: Meters): readonly Route[] {
  return operationRoutes({
    probes,
    meters,
    version: "0.0.0",
    roles: ["api"],
    routes: () => [],
    webhooks: [],
  });
}

/** The response of `/ready` with these stores. */
async function answerOf(probes: Probe[]): Promise<{ status: number; body: { data: Ready; errors?: object[] } }> {
  const meters = openMeters();
  const routes = routesOver(probes, meters);
  const { port } = await serveRoutes(routes, { meters });
  const response = await fetch(`http://127.0.0.1:${port}/ready`);
  return { status: response.status, body: (await response.json()) as { data: Ready; errors?: object[] } };
}
