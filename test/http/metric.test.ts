import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { metricBatchAnswer } from "../../src/http/metrics/schemas.js";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";

const HOUR = 3_600_000;
const now = Date.parse("2024-02-29T10:17:03.123Z");
const isAnswer = new Ajv2020({ allErrors: true }).compile(metricBatchAnswer.content["application/json"] ?? {});

interface Series {
  name?: string;
  dimension?: string;
  dimension_id?: string;
  dimension_type?: string;
  range: string;
  aggregation: string;
  interval: string;
  is_cached: boolean;
  complete_until: string;
  next_save_at: string;
  values: { value: number; ts: string }[];
  errors?: { code: string; path: string; message: string }[];
}

interface Answer {
  status: number;
  message: string;
  data: Series[];
  errors: { code: string; path: string; message: string }[];
}

describe("a read of metrics", () => {
  const service = serviceOfSuite({}, { clock: () => now });
  before(async () => {
    const point = (dimension: string, id: string, type: string, hoursAgo: number, value: number) =>
      pointOf(dimension, id, value, now - hoursAgo * HOUR, type);
    await writePoints(service, [
      ...[1, 2, 3, 4].map((hours) => point("stream", "web", "size", hours, hours)),
      point("segment", "s1", "size", 2, 10),
      point("segment", "s1", "size", 4, 20),
      point("experience", "e", "actualreach", 1, 3),
      point("experience", "e", "potentialreach", 1, 12),
      point("experience", "e", "converted", 1, 2),
    ]);
  });

  async function get(query: string): Promise<{ status: number; headers: Headers; body: Answer }> {
    const answer = await service.fetch(`/api/metric?${query}`);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Answer };
  }

  async function post(json: unknown): Promise<{ status: number; headers: Headers; body: Answer }> {
    const answer = await service.fetch("/api/metric", { method: "POST", json });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Answer };
  }

  const web = "dimension=stream&dimension_id=web&dimension_type=size";
  const webItem = { dimension: "stream", dimension_id: "web", dimension_type: "size" };

  it("returns the same by body as by query, for one object and for an array", async () => {
    const asked = { ...webItem, interval: "1h", smooth: true, include_empty_rows: true, range: "6h", name: "a+b" };
    const query = await get(`${web}&interval=1h&smooth=true&include_empty_rows=true&range=6h&name=a%2Bb`);
    const one = await post(asked);
    const many = await post([asked, webItem, asked]);
    const [first] = query.body.data;
    expect(first?.values.length).to.equal(6);
    expect(first?.name).to.equal("a+b");
    expect(one.body.data[0]).to.deep.equal({ ...first, is_cached: true });
    expect(many.body.data).to.have.length(3);
    expect(many.body.data[2]).to.deep.equal({ ...first, is_cached: true });
  });

  it("accepts both spellings of dates, a + decoded as a blank, numbers, and null for absent fields", async () => {
    const asked = { ...webItem, interval: "1h" };
    const expected = (await post({ ...asked, startdate: "2024-02-29T07:00:00Z", enddate: "2024-02-29T09:00:00Z" }))
      .body;
    expect(expected.data[0]?.values.map(({ value }) => value)).to.deep.equal([3, 2]);
    const values = expected.data[0]?.values;
    const from = Date.parse("2024-02-29T07:00:00Z");
    for (const window of [
      { start_date: "2024-02-29T08:00:00+01:00", end_date: "2024-02-29T09:00:00" },
      { start_date: from, enddate: (from + 2 * HOUR) / 1000, startdate: null, range: null, timezone: null, name: null },
    ]) {
      expect((await post({ ...asked, ...window })).body.data[0]?.values).to.deep.equal(values);
    }
    for (const window of [
      "startdate=2024-02-29T08:00:00+01:00&enddate=2024-02-29T09:00:00Z",
      "start_date=2024-02-29T08%3A00%3A00%2B01:00&end_date=1709197200",
    ]) {
      expect((await get(`${web}&interval=1h&${window}`)).body.data[0]?.values).to.deep.equal(values);
    }
  });

  it("has complete_until and next_save_at that do not depend on interval and time zone", async () => {
    const { body } = await post(
      ["1h", "1d", "1mo", "1y"].flatMap((interval) =>
        ["UTC", "Asia/Kolkata", "pacific/apia"].map((timezone) => ({ ...webItem, interval, timezone, range: "13mo" })),
      ),
    );
    const times = body.data.map(({ complete_until, next_save_at }) => `${complete_until} ${next_save_at}`);
    expect([times.length, new Set(times).size]).to.deep.equal([12, 1]);
    expect(new Set(body.data.map(({ values }) => values.length))).to.not.include(0);
  });

  for (const [what, query, expected] of [
    [
      "segsize as another name of segment, and returns it",
      "dimension=segsize&dimension_id=s1&dimension_type=size&interval=1d",
      { name: "segsize.s1.size", dimension: "segsize", aggregation: "max", first: 20 },
    ],
    [
      "a conversion rate from its parts",
      "dimension=experience&dimension_id=e&dimension_type=conversionrate",
      { name: "experience.e.conversionrate", first: 0.25 },
    ],
    ["converted as a type of its own", "dimension=experience&dimension_id=e&dimension_type=converted", { first: 2 }],
    [
      "keyspace and metric in the place of dimension and id",
      "keyspace=stream&metric=web&interval=1d",
      { name: "stream.web.size", dimension_type: "size", first: 10 },
    ],
    [
      "keyspace and metric without effect next to the other parameters",
      `${web}&keyspace=x&metric=y&account_id=1&interval=1d`,
      { name: "stream.web.size", first: 10 },
    ],
    ["an aggregation", `${web}&interval=1d&aggregation=min`, { aggregation: "min", first: 1 }],
    [
      "an id without points as an empty series",
      "dimension=segment&dimension_id=$%7Benv%7D%22)&dimension_type=size",
      { name: `segment.\${env}").size`, first: undefined },
    ],
  ] as const) {
    it(`accepts ${what}`, async () => {
      const { status, body } = await get(query);
      expect(status, JSON.stringify(body)).to.equal(200);
      const [series] = body.data;
      const { first, ...fields } = expected as { first?: number };
      expect(series).to.include(fields);
      expect(series?.values[0]?.value).to.equal(first);
    });
  }

  it("may be cached by a browser that revalidates it if it is a GET, and not if it is a POST", async () => {
    const { headers } = await get(`${web}&range=4h`);
    expect(headers.get("cache-control")).to.equal("private, no-cache");
    expect(headers.get("vary")?.split(/, */)).to.include.members(["Authorization", "Accept", "Accept-Encoding"]);
    expect(headers.get("etag")).to.match(/^W\/"[\w-]+"$/);
    const { headers: posted } = await post(webItem);
    expect([posted.get("cache-control"), posted.get("etag")]).to.deep.equal(["no-store", null]);
  });

  it("returns a bad item of a batch in its place, with its error and its valid names", async () => {
    const { status, body } = await post([
      webItem,
      { ...webItem, dimension_type: "conversionrate", name: "mine" },
      { dimension: "nonsense", dimension_id: "a\u0000", dimension_type: "size", name: 5 },
      null,
      { ...webItem, interval: "1h", range: "2w", name: "last" },
      { ...webItem, interval: "1m", startdate: "2000-01-01" },
    ]);
    expect(status).to.equal(200);
    expect(isAnswer(body), JSON.stringify(isAnswer.errors)).to.equal(true);
    expect(body.data.map(({ errors }) => errors?.[0]?.code)).to.deep.equal([
      undefined,
      ...["unknown_type", "invalid_type", "not_an_object", undefined, "too_many_buckets"],
    ]);
    expect(body.data.map(({ errors }) => errors?.[0]?.path)).to.deep.equal([
      undefined,
      ...["[1].dimension_type", "[2].name", "[3]", undefined, "[5].interval"],
    ]);
    const named = body.data.map(({ name, dimension, dimension_id }) => [name, dimension, dimension_id]);
    expect(named[1]).to.deep.equal(["mine", "stream", "web"]);
    expect(named[2]).to.deep.equal([undefined, undefined, undefined]);
    expect(named[4]?.[0]).to.equal("last");
    expect(body.data.every(({ values, errors }) => errors === undefined || values.length === 0)).to.equal(true);
  });

  it("is 503 with Retry-After if the store fails, never a response with missing data (P19)", async () => {
    await writePoints(service, [pointOf("stream", "unread", 1, now - HOUR)]);
    const { series } = service.service.stores;
    const { read } = series;
    try {
      series.read = () => Promise.reject(new Error("secret detail"));
      const batch = await service.fetch("/api/metric", {
        method: "POST",
        json: [webItem, { ...webItem, dimension_id: "unread" }, { ...webItem, range: "x" }],
      });
      expect(batch.status).to.equal(503);
      expect(Number(batch.headers.get("retry-after"))).to.be.greaterThan(0);
      expect(await batch.text()).not.to.contain("secret");
    } finally {
      series.read = read;
    }
    expect((await post({ ...webItem, dimension_id: "unread" })).status).to.equal(200);
  });
});
