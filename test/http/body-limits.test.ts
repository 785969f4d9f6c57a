import { expect } from "chai";
import { openSocket, readAnswer } from "../support/raw-request.js";
import { gaugeOf } from "../support/requests.js";
import { serviceOfEachTest, serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

const json = "application/json";
const point = { dimension: "segment", dimension_id: "a", dimension_type: "size", value: 1, ts: Date.now() };

/** Routes that read a JSON body as a whole, with a small good one; blanks around it change nothing. */
const routes: [method: string, path: string, body: unknown][] = [
  ["POST", "/api/metric", { dimension: "segment", dimension_id: "a", dimension_type: "size" }],
  ["POST", "/api/metric/points", [point]],
  ["POST", "/collect/json/web", [{ _uid: "ann" }]],
  ["PUT", "/api/segment/a", { name: "a" }],
];

describe("a body that is sent as a whole before its response is read", () => {
  const service = serviceOfSuite({}, { wrongKeysPerMinute: 1_000 });
  const MIB = 1_048_576;

  /** Writes the request, reads nothing until all of it is sent, and returns the status of the response. */
  async function statusAfter(target: string, bytes: number, headers: readonly string[]): Promise<number> {
    const socket = await openSocket(service.port);
    socket.on("error", () => {});
    socket.pause();
    const head = [`${target} HTTP/1.1`, "Host: a", "Content-Type: application/json", ...headers];
    const isChunked = headers.includes("Transfer-Encoding: chunked");
    if (!isChunked) head.push(`Content-Length: ${bytes}`);
    socket.write(`${head.join("\r\n")}\r\n\r\n${isChunked ? `${bytes.toString(16)}\r\n` : ""}`);
    await new Promise((resolve) => socket.write(Buffer.alloc(bytes, "x"), resolve));
    socket.write(isChunked ? "\r\n0\r\n\r\n" : "");
    const answer = readAnswer(socket);
    socket.resume();
    const { status } = await answer;
    socket.destroy();
    return status;
  }

  // More than the machine buffers of a connection.
  for (const [target, mib, key, expected] of [
    ["POST /api/metric", 10, undefined, 413],
    ["POST /api/metric/points", 17, undefined, 413],
    ["POST /api/metric", 10, "em_wrong_key", 401],
    ["POST /api/nothing", 10, undefined, 404],
  ] as const) {
    it(`is answered with ${expected} instead of a reset connection: ${target}`, async () => {
      for (const header of ["Connection: keep-alive", "Connection: close", "Expect: 100-continue"]) {
        for (const framing of [[], ["Transfer-Encoding: chunked"]]) {
          const headers = [`Authorization: ${key ?? service.key}`, header, ...framing];
          const statuses = [];
          for (let i = 0; i < 3; i += 1) statuses.push(await statusAfter(target, mib * MIB, headers));
          expect(statuses, String(headers.slice(1))).to.deep.equal([expected, expected, expected]);
        }
      }
    });
  }
});

describe("a large JSON array", () => {
  const service = serviceOfSuite();

  const post = async (path: string, body: string) => {
    const answer = await service.fetch(path, { method: "POST", body, headers: { "content-type": json } });
    return (await answer.json()) as { status: number; message: string; data: unknown; errors: { code: string }[] };
  };
  const wide = (i: number) => ({ _uid: `wide${i}`, text: "ü".repeat(500) });

  it("of messages that ends in invalid JSON is refused with the position, and none of its messages is stored", async () => {
    const good = Array.from({ length: 2_000 }, (_, i) => JSON.stringify(wide(i)));
    for (const [end, column] of Object.entries({ ',{"_uid":"b",}]': 14, ",]": 2, "": 1, "]]": 2 })) {
      const { message, status } = await post("/collect/json/web", `[${good.join(",\n")}\n${end}`);
      expect([status, message]).to.deep.equal([400, `The body is not JSON: line 2001, column ${column}`]);
    }
    expect((await service.fetch("/api/entity/user/_uid/wide0")).status).to.equal(404);
  });

  it("of messages is stored as a whole, each message once and in order", async () => {
    const messages = Array.from({ length: 3_000 }, (_, i) => ({ ...wide(i % 1_000), last: i }));
    expect(await post("/collect/json/large", JSON.stringify(messages, undefined, 1))).to.deep.include({
      status: 200,
      data: { message_count: 3_000, rejected_count: 0, errors: [] },
    });
    const answer = await service.fetch("/api/entity/user/_uid/wide7");
    expect(((await answer.json()) as { data: { last: number } }).data.last).to.equal(2_007);
  });

  it("of messages is stored without a message that has more values than an entity may have", async () => {
    const many = `{"_uid":"many","x":[${Array(600_000).fill("{}").join()}]}`;
    const { data } = await post("/collect/json/web", `[{"_uid":"x1"},${many},{"_uid":"x2"}]`);
    expect(data).to.deep.include({ message_count: 2, rejected_count: 1 });
    expect(data).to.have.nested.property("errors[0].code", "entity_too_large");
    expect(data).to.have.nested.property("errors[0].path", "[1]");
  });

  const points = Array.from({ length: 5_000 }, (_, i) => ({ ...point, dimension_id: `p${i}${"ü".repeat(40)}` }));

  it("of points that ends in invalid JSON is refused with the position, and no point is written", async () => {
    const text = points.map((one) => JSON.stringify(one)).join(",\n");
    for (const [end, column] of Object.entries({ ',{"ts":1,}]': 10, ",]": 2, "": 1, "] x": 3 })) {
      const { message, status } = await post("/api/metric/points", `[${text}\n${end}`);
      expect([status, message]).to.deep.equal([400, `The body is not JSON: line 5001, column ${column}`]);
    }
    const list = await service.fetch("/api/series?dimension=segment&prefix=p0");
    expect(await list.json())
      .to.have.property("data")
      .that.deep.equals([]);
  });

  it("of points is written as a whole, and a bad point is reported by its index", async () => {
    expect(await post("/api/metric/points", JSON.stringify(points))).to.deep.include({ data: { point_count: 5_000 } });
    const bad = points.with(4_321, { ...point, value: Number.NaN });
    expect((await post("/api/metric/points", JSON.stringify(bad))).errors).to.deep.equal([
      { code: "required", path: "[4321].value", message: "value is required" },
    ]);
  });

  it("of points is refused with the index of a point that is too long", async () => {
    const long = { ...point, dimension_id: "x".repeat(300_000) };
    const { errors } = await post("/api/metric/points", JSON.stringify([long, point]));
    expect(errors).to.deep.equal([{ code: "too_long", path: "[0]", message: "The element is too long" }]);
  });
});

describe("a body for which no memory is free", () => {
  const service = serviceOfEachTest({ limits: { read_bytes: 2 ** 20 } });

  const reserved = () => gaugeOf(service, "metric_read_bytes");

  it("is refused with 503 and Retry-After on every route until memory is free again", async () => {
    const socket = await openSocket(service.port);
    const headers = `Host: a\r\nAuthorization: ${service.key}\r\nContent-Type: ${json}\r\nContent-Length: 900000`;
    socket.write(`POST /api/metric/points HTTP/1.1\r\n${headers}\r\n\r\n${" ".repeat(600_000)}`);
    await until("the first body takes the memory", async () => (await reserved()) >= 2 ** 20);

    const send = ([method, path, body]: (typeof routes)[number]) =>
      service.fetch(path, {
        method,
        body: JSON.stringify(body) + " ".repeat(200_000),
        headers: { "content-type": json },
      });
    for (const route of routes) {
      const answer = await send(route);
      expect([answer.status, Number(answer.headers.get("retry-after")) >= 1], route[1]).to.deep.equal([503, true]);
      await answer.arrayBuffer();
    }
    expect((await service.fetch("/api/segment/a")).status).to.equal(404);

    socket.destroy();
    await until("the memory is free", async () => (await reserved()) === 0);
    for (const route of routes) {
      const answer = await send(route);
      expect(answer.status, route[1]).to.equal(200);
      await answer.arrayBuffer();
    }
    await until("the memory is free again", async () => (await reserved()) === 0);
  });
});

describe("a body of points that is longer than its points", () => {
  const service = serviceOfEachTest({ limits: { read_bytes: 4_000_000, batch_points: 1_000 } });

  it("is accepted when memory is free for the points of the largest write", async () => {
    const socket = await openSocket(service.port);
    const headers = `Host: a\r\nAuthorization: ${service.key}\r\nContent-Type: ${json}\r\nContent-Length: 900000`;
    socket.write(`POST /api/metric/points HTTP/1.1\r\n${headers}\r\n\r\n${" ".repeat(200_000)}`);
    await until("another body takes memory", async () => (await gaugeOf(service, "metric_read_bytes")) >= 400_000);
    const bodies = [
      ["/api/metric/points", json, JSON.stringify([point])],
      ["/api/metric/points", "application/x-ndjson", JSON.stringify(point)],
      ["/api/v2/write?precision=ms", "text/plain", `segment,dimension_id=a value=1 ${Date.now()}`],
    ] as const;
    for (const [path, type, text] of bodies) {
      const body = text + `${" ".repeat(9_999)}\n`.repeat(90);
      const answer = await service.fetch(path, { method: "POST", body, headers: { "content-type": type } });
      expect(answer.status, `${path} ${type}`).to.be.oneOf([200, 204]);
      await answer.arrayBuffer();
    }
    socket.destroy();
  });
});
