import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { pointOf, writePoints } from "../support/requests.js";
import { newKey, type Overrides, serviceOfSuite, startService } from "../support/service.js";

const HOUR = 3_600_000;
const START = Date.UTC(2025, 0, 6, 10);

describe("GET /federate", () => {
  let now: number;
  beforeEach(() => {
    now = START + HOUR / 2;
  });
  // Nothing is recorded: the test writes all values.
  const service = serviceOfSuite({ roles: ["api"] }, { clock: () => now });

  const ask = (selectors: readonly string[], key = service.key, of = service) =>
    of.fetch(`/federate?${new URLSearchParams(selectors.map((one): [string, string] => ["match[]", one]))}`, {
      key,
    });

  /** Returns the lines of all samples but the starts of the slots. */
  async function samples(...selectors: string[]): Promise<string[]> {
    const response = await ask(selectors);
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return text.split("\n").filter((line) => line !== "" && !/^#|^entity_metrics_slot_/.test(line));
  }

  const put = async (path: string, json: object) =>
    expect((await service.fetch(path, { method: "PUT", json })).status).to.equal(200);

  const offer = { name: "Offer", group: "offers", audience: "beta", goal: "news" };
  const everything = '{__name__=~"entity_metrics_.+"}';

  before(async () => {
    now = START;
    await put("/api/segment/beta", { name: 'Beta "1"\\' });
    await put("/api/segment/news", {});
    await put("/api/experience/offer", offer);
    await put("/api/experience/lonely", { audience: "beta", goal: "news" });
    await writePoints(service, [
      pointOf("segment", "beta", 7, START),
      pointOf("segment", "beta", 1, START, "joined"),
      pointOf("segment", "unregistered", 0, START),
      ...["offer", "lonely", "gone"].flatMap((id) => [
        pointOf("experience", id, 8, START, "potentialreach"),
        pointOf("experience", id, 2, START, "actualreach"),
      ]),
      pointOf("experience", "offer", 3, START, "converted"),
      pointOf("experiencegroup", "offers", 10, START, "potentialreach"),
      pointOf("experiencegroup", "offers", 0.5, START),
      pointOf("stream", "web", 6, START - HOUR),
      pointOf("stream", "web", 99, START),
      pointOf("stream", "app", 5, START - 2 * HOUR),
    ]);
  });

  it("returns the current value of every series, with the names of the catalogue, in the text format", async () => {
    const response = await ask([everything]);
    expect(response.headers.get("content-type")).to.equal("text/plain; version=0.0.4; charset=utf-8");
    const text = await response.text();
    const seconds = START / 1000;
    const gauge = (name: string, help: string, ...lines: string[]) => [
      `# HELP entity_metrics_${name} ${help}`,
      `# TYPE entity_metrics_${name} gauge`,
      ...lines.map((line) => `entity_metrics_${name}{${line}`),
    ];
    const gone = 'experience="gone",name="gone"}';
    const lonely = 'experience="lonely",name="lonely"}';
    const offer = 'experience="offer",name="Offer",group="offers"}';
    const ofExperience = (name: string, help: string, value: number) =>
      gauge(`experience_${name}`, help, ...[gone, lonely, offer].map((labels) => `${labels} ${value}`));
    expect(text.split("\n")).to.deep.equal([
      ...ofExperience("potential_reach", "Members of the audience of an experience.", 8),
      ...ofExperience("actual_reach", "Members of both audience and goal of an experience.", 2),
      ...ofExperience("conversion_rate", "Actual reach of an experience divided by its potential reach.", 0.25),
      ...gauge("experience_converted", "Value of type converted that clients wrote for an experience.", `${offer} 3`),
      ...gauge(
        "experiencegroup_potential_reach",
        "Members of the audience of a group of experiences.",
        'group="offers"} 10',
      ),
      ...gauge(
        "experiencegroup_conversion_rate",
        "Actual reach of a group of experiences divided by its potential reach.",
        'group="offers"} 0',
      ),
      ...gauge(
        "experiencegroup_size",
        "Value of type size that clients wrote for a group of experiences.",
        'group="offers"} 0.5',
      ),
      ...gauge(
        "segment_size",
        "Members of a segment.",
        'segment="beta",name="Beta \\"1\\"\\\\"} 7',
        'segment="unregistered",name="unregistered"} 0',
      ),
      ...gauge("stream_messages", "Messages of a stream in the slot that ended last.", 'stream="web"} 6'),
      ...gauge(
        "slot_timestamp_seconds",
        "Start of the slot whose values are shown.",
        `dimension="experience"} ${seconds}`,
        `dimension="experiencegroup"} ${seconds}`,
        `dimension="segment"} ${seconds}`,
        `dimension="stream"} ${seconds - 3_600}`,
      ),
      "",
    ]);
    const checked = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    if (checked.error === undefined) expect([checked.status, checked.stderr]).to.deep.equal([0, ""]);
  });

  it("returns a value for one slot and no longer, and new names of the catalogue at once", async () => {
    const size = ["segment_size", "potential_reach", "stream_messages"].map((end) => `{__name__=~".*_${end}"}`);
    const countAt = async (ms: number) => {
      now = ms;
      const lines = await samples(...size);
      return ["segment_size", "experience_potential", "stream"].map(
        (name) => lines.filter((line) => line.includes(`entity_metrics_${name}`)).length,
      );
    };
    expect(await countAt(START)).to.deep.equal([2, 3, 1]);
    expect(await countAt(START + HOUR - 1)).to.deep.equal([2, 3, 1]);
    // The next hour of messages is shown once it has ended.
    expect(await countAt(START + HOUR)).to.deep.equal([2, 0, 1]);
    expect(await countAt(START + 2 * HOUR)).to.deep.equal([0, 0, 0]);
    now = START;
    const { group: _, ...other } = { ...offer, name: "New" };
    await put("/api/experience/offer", other);
    expect(await samples("entity_metrics_experience_converted")).to.deep.equal([
      'entity_metrics_experience_converted{experience="offer",name="New"} 3',
    ]);
    await put("/api/experience/offer", offer);
  });

  const web = 'entity_metrics_stream_messages{stream="web"} 6';
  const offers = 'entity_metrics_experience_converted{experience="offer",name="Offer",group="offers"} 3';
  it("returns what one of the selectors selects, each sample once", async () => {
    for (const [selectors, expected] of [
      [
        ["entity_metrics_stream_messages", "entity_metrics_experience_converted"],
        [offers, web],
      ],
      [['entity_metrics_stream_messages{stream="web"}', '{stream=~"w.*"}'], [web]],
      [['{group="offers",__name__=~".*converted"}'], [offers]],
      [['entity_metrics_stream_messages{name=""}'], [web]],
      [['entity_metrics_stream_messages{constructor=~".+"}'], []],
      [["entity_metrics_unknown"], []],
      [["entity_metrics_segment_joined"], []],
      [["entity_metrics_http_connections"], []],
    ] as const)
      expect(await samples(...selectors), selectors.join(" or ")).to.deep.equal(expected);
  });

  it("returns only its own stream to a key that is bound to one", async () => {
    await writePoints(service, [pointOf("stream", "web2", 1, START - HOUR)]);
    const { key } = await newKey(service, ["metric:read"], now, { stream: "web" });
    const text = await (await ask([everything], key)).text();
    expect(text.split("\n").filter((line) => /^entity_metrics_(?!slot)/.test(line))).to.deep.equal([web]);
    expect(text).to.contain('entity_metrics_slot_timestamp_seconds{dimension="segment"}');
  });

  it("refuses a request without a selector or with an invalid one, and does not repeat it", async () => {
    for (const [selectors, code, message] of [
      [[], "required", "match[] is required"],
      [["a", '{zqcanaryqz=~"("}'], "invalid_selector", "Selector 2 has a regular expression that is not valid in RE2"],
      [["zqcanaryqz{"], "invalid_selector", "Selector 1 is not valid at character 12: a label name or } is expected"],
    ] as const) {
      const response = await ask(selectors);
      expect(response.status).to.equal(400);
      const text = await response.text();
      expect(text).to.not.contain("zqcanaryqz");
      expect(JSON.parse(text)).to.deep.equal({
        status: 400,
        message,
        data: null,
        errors: [{ code, path: "match[]", message }],
      });
    }
  });

  describe("of a service of its own", () => {
    // Embedded: InfluxDB compares times with its own clock, and writes 10,000 series slowly.
    const own = (settings: Overrides = {}) =>
      startService({ roles: ["api"], ...settings }, { clock: () => now, onServers: false });

    it("refuses more than 10,000 series with a value with 422, and returns all of 10,000", async () => {
      const large = await own();
      const ids = Array.from({ length: 10_001 }, (_, i) => `s-${i}`);
      const block = { series: ids.map((id) => ({ dimension: "segment", dimension_id: id, dimension_type: "size" })) };
      const values = ids.map((_, i) => [i < 10_000 ? i : null, i]);
      const count = async (selector: string) =>
        (await (await ask([selector], large.key, large)).text()).match(/^entity_metrics_segment_size/gm)?.length;
      await writePoints(large, { ...block, ts: [START - 2 * HOUR, START], values });
      expect(await count('{segment!="s-77",segment!=""}')).to.equal(10_000);
      const response = await ask(["entity_metrics_segment_size"], large.key, large);
      expect(response.status).to.equal(422);
      const { errors } = (await response.json()) as { errors: { code: string; path: string }[] };
      expect(errors.map(({ code, path }) => [code, path])).to.deep.equal([["too_many_series", "match[]"]]);
      now = START - HOUR;
      expect(await count("entity_metrics_segment_size")).to.equal(10_000);
    }).timeout(60_000);

    it("returns no value of a slot that is older than the retention of points", async () => {
      const short = await own({ metrics: { retention: "1h" } });
      await writePoints(short, [pointOf("segment", "beta", 7, START)]);
      for (const [ms, shown] of [
        [START + HOUR, true],
        [START + HOUR + 1, false],
      ] as const) {
        now = ms;
        const text = await (await ask(["entity_metrics_segment_size"], short.key, short)).text();
        expect(text.includes('{segment="beta"')).to.equal(shown);
      }
    });
  });
});
