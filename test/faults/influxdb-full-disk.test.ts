import { join } from "node:path";
import { expect } from "chai";
import { freePort } from "../support/free-port.js";
import { type Program, startProgram } from "../support/program.js";
import { onServers } from "../support/servers.js";
import { startService, type TestService } from "../support/service.js";
import { limitFileSize, mountSmallDisk, type SmallDisk } from "../support/small-disk.js";

const HOUR = 3_600_000;
const TOKEN = "a-token-of-the-test-alone";

/** Series of one write: their lines and index take more than the room that is left anywhere. */
const SERIES = 500;

onServers(["influxd"], "P24: a service whose InfluxDB has a full disk", function () {
  this.timeout(120_000);
  let disk: SmallDisk | undefined;
  let influxd: Program | undefined;
  let service: TestService;
  before(async function () {
    disk = mountSmallDisk(64);
    if (disk === undefined) return this.skip();
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    influxd = await startProgram(
      process.env.TEST_INFLUXD ?? "",
      [
        ...["--http-bind-address", `127.0.0.1:${port}`, "--reporting-disabled", "--log-level", "error"],
        ...["--bolt-path", join(disk.dir, "bolt"), "--sqlite-path", join(disk.dir, "sqlite")],
        ...["--engine-path", join(disk.dir, "engine")],
      ],
      async () => (await fetch(`${address}/health`)).ok,
    );
    const names = { username: "admin", password: TOKEN, org: "full", bucket: "metrics", token: TOKEN };
    const set = await fetch(`${address}/api/v2/setup`, { method: "POST", body: JSON.stringify(names) });
    expect(set.ok, await set.text()).to.equal(true);
    const url = `influxdb://127.0.0.1:${port}/?org=full&bucket=metrics`;
    service = await startService({ metrics: { url, token: TOKEN } }, { onServers: false });
  });
  after(async () => {
    await service?.stop();
    await influxd?.kill();
    disk?.remove();
  });

  const slot = Math.floor(Date.now() / HOUR) * HOUR - 2 * HOUR;
  const write = (name: string, count: number, value = 7) => {
    const series = Array.from({ length: count }, (_, i) => ({
      dimension: "stream",
      dimension_id: `${name}${i}`,
      dimension_type: "size",
    }));
    const json = { series, ts: [slot], values: series.map(() => [value]) };
    return service.fetch("/api/metric/points", { method: "POST", json });
  };
  const read = async (name: string) => {
    const query = new URLSearchParams({ dimension: "stream", dimension_id: `${name}0`, dimension_type: "size" });
    const answer = await service.fetch(`/api/metric?${query}&range=6h&interval=1h`);
    const { data } = (await answer.json()) as { data: [{ values: { value: number }[] }] };
    return { status: answer.status, values: data?.[0].values.map(({ value }) => value).filter((value) => value > 0) };
  };
  const readiness = async () => {
    const { data } = (await (await service.fetch("/ready")).json()) as {
      data: { degraded: boolean; stores: { name: string; note?: string }[] };
    };
    return { degraded: data.degraded, note: data.stores.find(({ name }) => name === "metrics")?.note };
  };

  const note = "InfluxDB has no space left: the last write of points was refused";

  it("refuses writes with 507, reports degraded, and serves reads until it has space again", async () => {
    expect((await write("kept", SERIES)).status).to.equal(200);
    expect(await readiness()).to.deep.equal({ degraded: false, note: undefined });
    disk?.fill();
    let refused = await write("more", SERIES);
    for (let i = 0; refused.status === 200 && i < 100; i += 1) refused = await write(`more${i}`, SERIES);
    expect(refused.status).to.equal(507);
    expect(await refused.json()).to.include({ status: 507, message: "The store has no space left", data: null });
    expect(await readiness()).to.deep.equal({ degraded: true, note });
    expect(await read("kept")).to.deep.equal({ status: 200, values: [7] });
    disk?.free();
    expect((await write("kept", SERIES, 8)).status).to.equal(200);
    expect(await readiness()).to.deep.equal({ degraded: false, note: undefined });
    expect(await read("kept")).to.deep.equal({ status: 200, values: [8] });
  });

  it("refuses writes with 507 and reports degraded while its files cannot grow", async () => {
    limitFileSize(influxd?.pid(), 0);
    expect((await write("kept", 1)).status).to.equal(507);
    expect(await readiness()).to.deep.equal({ degraded: true, note });
  });
});
