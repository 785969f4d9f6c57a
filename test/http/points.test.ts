import { expect } from "chai";
import { DAY, HOUR, NOW, pointsStage } from "../support/points-stage.js";

/** An id with the characters that end a list of series. */
const AWKWARD = 'a],"ts":[';

/** Bodies that begin as a block does; `series` is the text of a series. */
const unusualBlocks: [string, (series: string) => string][] = [
  ["a block", (series) => `{"series":[${series}],"ts":[${DAY}],"values":[[1]]}`],
  [
    "a block with a second list of series",
    (series) => {
      const other = series.replace(/"s(\d+)"/, '"other$1"');
      return `{"series":[${series}],"ts":[${DAY}],"values":[[1]],"series":[${other}]}`;
    },
  ],
  [
    "a block with two lists of times",
    (series) => `{"series":[${series}],"ts":[${DAY}],"ts":[${DAY + HOUR}],"values":[[1]]}`,
  ],
  ["a block with a field that is none", (series) => `{"series":[${series}],"ts":[${DAY}],"values":[[1]],"unit":"ms"}`],
  ["a block with a bad value", (series) => `{"series":[${series}],"ts":[${DAY}],"values":[["1"]]}`],
  ["a block with a value too few", (series) => `{"series":[${series}],"ts":[${DAY}],"values":[[]]}`],
  ["a block with two values and one series", (series) => `{"series":[${series}],"ts":[${DAY}],"values":[[1],[2]]}`],
  ["a block with an empty list of series", () => `{"series":[],"ts":[${DAY}],"values":[]}`],
  [
    "a block with a series that is none",
    (series) => `{"series":[${series},{"dimension":"planet"}],"ts":[${DAY}],"values":[[1],[2]]}`,
  ],
  [
    "a block with a bad field beside a good series",
    (series) => `{"series":[${series.replace("}", ',"unit":[1],"ts":5}')}],"ts":[${DAY}],"values":[[1]]}`,
  ],
  [
    "a block of an id that holds the end of a list",
    (series) => {
      const awkward = series.replace(/"s\d+"/, JSON.stringify(AWKWARD));
      return `{"series":[${series},${awkward}],"ts":[${DAY}],"values":[[1],[2]]}`;
    },
  ],
  ["a block with something after its end", (series) => `{"series":[${series}],"ts":[${DAY}],"values":[[1]]}x`],
  ["half a block", (series) => `{"series":[${series}],"ts":[${DAY}],"values":[[1`],
  ["a block whose list ends twice", (series) => `{"series":[${series}]],"ts":[${DAY}],"values":[[1]]}`],
];

describe("writing points", () => {
  const on = pointsStage();
  const { names, point, saved, accepted } = on;

  it("takes the string of ms that answers carry", async () => {
    await accepted([point(String(DAY), 4)], 1);
    expect(await saved()).to.deep.equal({ 0: 4 });
  });

  it("takes lines of JSON, blank ones aside", async () => {
    const body = `${JSON.stringify(point(DAY, 1))}\n\n${JSON.stringify(point(DAY + HOUR, 2))}\r\n`;
    const headers = { "content-type": "application/x-ndjson" };
    const answer = await on.service.fetch("/api/metric/points", { method: "POST", body, headers });
    expect(answer.status).to.equal(200);
    expect(await saved()).to.deep.equal({ 0: 1, 1: 2 });
  });

  it("takes a block with null for a missing value", async () => {
    const other = { dimension: "segsize", dimension_id: `g${on.stream}`, dimension_type: "size" };
    const values = [
      [1, null, 3],
      [null, 5, 6],
    ];
    await accepted({ series: [names(), other], ts: [DAY, String(DAY + HOUR), DAY + 2 * HOUR], values }, 4);
    expect(await saved()).to.deep.equal({ 0: 1, 2: 3 });
    expect(await saved("segment", `g${on.stream}`)).to.deep.equal({ 0: 5, 2: 6 });
  });

  it("takes blocks that begin with the same list of series one after the other", async () => {
    const series = [names(), { ...names(), dimension_id: `t${on.stream}` }];
    for (const hour of [0, 1, 2])
      await accepted({ series, ts: [DAY + hour * HOUR], values: [[hour + 1], [hour + 10]] }, 2);
    expect(await saved()).to.deep.equal({ 0: 1, 1: 2, 2: 3 });
    expect(await saved("stream", `t${on.stream}`)).to.deep.equal({ 0: 10, 1: 11, 2: 12 });
  });

  // Each is sent twice, because a repeated list of series is parsed differently, and a third time after a space.
  for (const [name, make] of unusualBlocks) {
    it(`answers ${name} the same however often it comes`, async () => {
      const body = make(JSON.stringify(names()));
      const answers: unknown[] = [];
      for (const sent of [body, body, ` ${body}`]) {
        const headers = { "content-type": "application/json" };
        const answer = await on.service.fetch("/api/metric/points", { method: "POST", body: sent, headers });
        const text = (await answer.text()).replaceAll(/column \d+/g, "column");
        const { request_id: _, ...said } = JSON.parse(text) as Record<string, unknown>;
        answers.push([said, await saved(), await saved("stream", AWKWARD)]);
      }
      expect(answers[1]).to.deep.equal(answers[0]);
      expect(answers[2]).to.deep.equal(answers[0]);
    });
  }

  it("takes a block whose times are out of order and far apart", async () => {
    const old = Date.UTC(2001, 0, 1);
    await accepted({ series: [names()], ts: [DAY + 2 * HOUR, old, DAY], values: [[3, 9, 1]] }, 3);
    expect(await saved()).to.deep.equal({ 0: 1, 2: 3 });
  });

  it("takes points from the year 2000 up to 10 minutes ahead", async () => {
    await accepted([point(NOW + 600_000, 1), point(Date.UTC(2000, 0, 1), 1)], 2);
  });
});
