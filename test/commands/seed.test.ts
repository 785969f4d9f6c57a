import { expect } from "chai";
import { madeUpExperiences, madeUpSegments, madeUpSeries, membersOf } from "../../src/commands/made-up-data.js";
import { runToEnd } from "../support/run-command.js";
import { startService, type TestService } from "../support/service.js";

interface Series {
  readonly dimension_id: string;
  readonly values: readonly { readonly value: number; readonly ts: string }[];
}

describe("made-up data", function () {
  this.timeout(60_000);
  let service: TestService;
  beforeEach(async () => {
    service = await startService({ roles: ["api"] });
  });
  afterEach(() => service.stop());

  const fetchSeries = async (query: object) =>
    ((await (await service.fetch("/api/metric", { method: "POST", json: query })).json()) as { data: Series[] }).data;

  it("fills a service through its API: series up to now, a catalogue, people", async () => {
    const { code, err } = await runToEnd("seed", ["--url", service.url, "--weeks", "2"]);
    expect(code, err).to.equal(0);
    expect(err).to.match(/made-up data: (\d+) of \1 requests/);

    const sizes = await fetchSeries({
      dimension: "segment",
      dimension_id: "all_segments",
      dimension_type: "size",
      range: "2w",
      interval: "1d",
    });
    expect(sizes.map(({ dimension_id }) => dimension_id)).to.have.members(madeUpSegments.map(({ id }) => id));
    for (const { values } of sizes) expect(values.length).to.be.within(14, 15);
    for (const { id } of madeUpExperiences) {
      const [rate] = await fetchSeries({
        dimension: "experience",
        dimension_id: id,
        dimension_type: "conversionrate",
        range: "6h",
      });
      for (const { value } of rate?.values ?? []) expect(value).to.be.within(0.01, 1);
    }
    const [volumes] = await fetchSeries({
      dimension: "stream",
      dimension_id: "web",
      dimension_type: "size",
      range: "1w",
      interval: "1h",
    });
    expect(volumes?.values.length).to.be.at.least(166);

    const person = await (await service.fetch("/api/me/email/visitor-1%40example.com")).json();
    expect((person as { data: { segments: string[] } }).data.segments).to.include("All visitors");
    const members = (await (await service.fetch("/api/segment/sizes")).json()) as {
      data: { id: string; size: number }[];
    };
    for (const { id, size } of members.data) expect(size, id).to.equal(membersOf(id));
  });

  it("leaves the slot of now to the recorder", () => {
    const now = Date.UTC(2026, 0, 1, 12, 34);
    const newest = madeUpSeries(1, now).map(({ ts }) => ts.at(-1));
    expect(newest).to.deep.equal([10, 11, 11, 11].map((hour) => Date.UTC(2026, 0, 1, hour)));
  });

  const wrong: [string, string[], Record<string, string>, RegExp][] = [
    ["a key that the service does not know", [], { ENTITY_METRICS_KEY: "em_a_b" }, /does not know the key/],
    ["no number of weeks", ["--weeks", "many"], {}, /--weeks is a whole number/],
  ];
  for (const [what, args, environment, words] of wrong) {
    it(`fails in words with ${what}`, async () => {
      const { code, err } = await runToEnd("seed", ["--url", service.url, ...args], environment);
      expect(code).to.equal(1);
      expect(err).to.match(words);
    });
  }
});
