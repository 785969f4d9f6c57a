import type { RequestListener } from "node:http";
import { expect } from "chai";
import {
  ApiError,
  type Client,
  createClient,
  type MemberLine,
  type MembersInput,
  NotReached,
} from "../../src/client/client.js";
import { httpServer } from "../support/http-server.js";
import { serviceOfSuite } from "../support/service.js";

/** The reason of a rejected promise. */
const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail("the call did not reject"),
    (error) => error,
  );

describe("the client", () => {
  let client: Client;
  const hour = 3_600_000;
  const now = Date.UTC(2026, 0, 2, 12);

  const service = serviceOfSuite({}, { clock: () => now });
  before(async () => {
    client = createClient({ url: `${service.url}/`, key: service.key });
  });

  it("writes points, and reads several series with one request, each in its place", async () => {
    const at = (id: string, value: number) =>
      ({ dimension: "stream", dimension_id: id, dimension_type: "size", ts: now - 4 * hour, value }) as const;
    expect(await client.writePoints([at("web", 3), at("app", 4)])).to.deep.equal({ point_count: 2 });
    for (const source of ["a", "b", "a"]) await client.writePoints([{ ...at("added", 5), source }], { mode: "add" });
    const series = { dimension: "stream", dimension_type: "size", range: "1d", interval: "2h" } as const;
    const answers = await client.metrics([
      { ...series, dimension_id: "web" },
      { ...series, dimension_id: "x", range: "no duration" },
      { ...series, dimension_id: "app" },
      { ...series, dimension_id: "added" },
    ]);
    expect(answers.map(({ values }) => values.map(({ value }) => value))).to.deep.equal([[3], [], [4], [10]]);
    const [, refused] = answers;
    expect(refused !== undefined && "errors" in refused ? refused.errors[0]?.code : undefined).to.equal(
      "invalid_range",
    );
  });

  it("sends any number of messages, reports each rejection with its place, and reads a profile", async () => {
    async function* people() {
      for (let i = 0; i < 1_100; i++) yield i === 700 ? { city: "nobody's" } : { _uid: `c-${i}`, segments: ["all"] };
    }
    const tallies = [];
    for await (const tally of client.collect("web", people())) tallies.push(tally);
    expect(tallies.map(({ first, message_count }) => [first, message_count])).to.deep.equal([
      [0, 500],
      [500, 499],
      [1_000, 100],
    ]);
    expect(tallies[1]?.errors[0]?.path).to.equal("line 201");
    const { data, meta } = await client.entity("user", "_uid", "c-5");
    expect(data).to.deep.equal({ _uid: "c-5", segments: ["all"] });
    expect(meta?.by_fields).to.include("_uid");
  });

  it("reads every page of a list, whatever characters an id contains", async () => {
    for (const id of ["a/b", "ü?&=", "z"]) await client.putSegment(id, { name: `Name of ${id}` });
    const found = [];
    for await (const { id } of client.segments({ limit: 1 })) found.push(id);
    expect(found).to.include.members(["a/b", "ü?&=", "z"]);
    expect(new Set(found).size).to.equal(found.length);
    expect(await client.removeSegment("a/b")).to.deep.equal({ id: "a/b" });
  });

  it("reads the members of a segment, and returns the cursor of the next call", async () => {
    for await (const _ of client.collect(
      "web",
      [1, 2, 3].map((n) => ({ _uid: `m-${n}`, n, segments: ["members"] })),
    ));
    const lines = async (input?: MembersInput) => {
      const read: MemberLine[] = [];
      for await (const line of client.members("members", input)) read.push(line);
      return read;
    };
    const all = await lines({ fields: ["n"] });
    expect(all).to.have.length(4);
    expect(all[0]).to.have.keys("identities", "attributes", "since");
    expect(all[3]).to.deep.equal({ type: "end", members: 3, next: null });
    const [end] = (await lines({ limit: 2 })).slice(-1);
    if (end === undefined || !("type" in end) || end.next === null) throw new Error("there are more members");
    expect(await lines({ after: end.next, fields: ["n"] })).to.deep.equal([all[2], { ...all[3], members: 1 }]);
    expect(await errorOf(client.members("no such segment").next())).to.be.instanceOf(ApiError);
  });

  it("reads one page of a list with the number of all rows, and the page after it", async () => {
    for (const id of ["page-1", "page-2", "page-3"]) await client.putSegment(id, {});
    const query = { q: "PAGE-", sort: "name", order: "desc", range: "1d", limit: 2 };
    const first = await client.page("segment", query);
    expect(first.data.map(({ id }) => id)).to.deep.equal(["page-3", "page-2"]);
    expect(first.data[0]).to.include({ size: 0, now: null, before: null });
    expect(first.meta.total).to.equal(3);
    const second = await client.page("segment", { ...query, after: first.meta.next ?? "" });
    expect([second.data.map(({ id }) => id), second.meta]).to.deep.equal([["page-1"], { next: null, total: 3 }]);
  });

  it("requests a deletion and reports whether it is completed", async () => {
    const { request_id, completed } = await client.requestDeletion("user", "_uid", "c-6");
    expect(completed).to.equal(false);
    expect((await client.deletionStatus(request_id)).request_id).to.equal(request_id);
  });

  it("requests any number of deletions, and returns a result for each in order", async () => {
    async function* people() {
      for (let i = 0; i < 1_100; i++) yield { field: i === 700 ? "no such field" : "_uid", value: `d-${i}` };
    }
    const received = [];
    for await (const one of client.deleteEntities(people())) received.push(one);
    expect(received).to.have.length(1_100);
    expect(received.flatMap((one, i) => ("errors" in one ? [[i, one.errors[0]?.code]] : []))).to.deep.equal([
      [700, "not_an_identity"],
    ]);
    const items = [
      { table: "user", field: "_uid", value: "d-1" },
      { field: "_uid", value: "" },
    ];
    const first = await client.requestDeletions(items, "a key");
    expect(first[1]).to.have.property("errors");
    const [again] = await client.requestDeletions(items, "a key");
    expect(again)
      .to.have.property("request_id")
      .that.equals("request_id" in (first[0] ?? {}) && (first[0] as { request_id: string }).request_id);
    const line = JSON.stringify(items[0]);
    const [sent] = await client.deleteLines(line, "of lines");
    expect(sent).to.have.property("request_id");
    expect(await errorOf(client.deleteLines(`{}\n${line}`, "of lines"))).to.include({ status: 422 });
  });

  it("rejects with the error of the service", async () => {
    const error = await errorOf(client.entity("user", "no such field", "x"));
    expect(error).to.be.instanceOf(ApiError).that.includes({ status: 400 });
    expect((error as ApiError).issues[0]).to.have.keys("code", "path", "message");
    expect((error as ApiError).requestId).to.match(/^[0-9a-f-]{36}$/);
    const wrong = createClient({ url: service.url, key: "em_no_such_key_0123456789abcdef" });
    expect(await errorOf(wrong.metrics([])))
      .to.be.instanceOf(ApiError)
      .that.includes({ status: 401 });
  });
});

describe("the client of a service that fails", () => {
  let url: string;
  let asked: number;
  let answer: RequestListener;

  beforeEach(async () => {
    asked = 0;
    ({ url } = await httpServer((request, response) => {
      asked++;
      request.resume();
      answer(request, response);
    }));
  });

  const busy: RequestListener = (_, response) => response.writeHead(503, { "retry-after": "0" }).end("{}");
  const ready: RequestListener = (_, response) => response.end('{"status":200,"message":"success","data":[]}');

  it("repeats a request to a busy service after Retry-After", async () => {
    answer = (request, response) => (asked < 4 ? busy : ready)(request, response);
    expect(await createClient({ url }).metrics([])).to.deep.equal([]);
    expect(asked).to.equal(4);
  });

  it("gives up after its maximum of tries, or if it would have to wait longer than its maximum", async () => {
    answer = busy;
    const error = await errorOf(createClient({ url, tries: 3 }).metrics([]));
    expect(error).to.be.instanceOf(ApiError).that.includes({ status: 503, retryAfterMs: 0 });
    expect(asked).to.equal(3);
    answer = (_, response) => response.writeHead(429, { "retry-after": "60" }).end("{}");
    expect(await errorOf(createClient({ url }).metrics([]))).to.include({ status: 429, retryAfterMs: 60_000 });
    expect(asked).to.equal(4);
  });

  it("reports why and how long it waits, and stops when onRetry throws", async () => {
    answer = (request, response) =>
      asked === 1
        ? request.socket.destroy()
        : response.writeHead(asked === 2 ? 503 : 429, { "retry-after": "0" }).end("{}");
    const waits: unknown[] = [];
    const onRetry = (error: ApiError | NotReached, waitMs: number) => {
      waits.push(error instanceof ApiError ? [error.status, waitMs] : error.name);
      if (waits.length === 3) throw new Error("enough");
    };
    expect(await errorOf(createClient({ url, onRetry }).metrics([]))).to.include({ message: "enough" });
    expect(waits).to.deep.equal(["NotReached", [503, 0], [429, 0]]);
    expect(asked).to.equal(3);
  });

  it("leaves no listeners on a signal of many calls", async () => {
    answer = ready;
    const warnings: string[] = [];
    const warn = ({ message }: Error) => warnings.push(message);
    process.on("warning", warn);
    const { signal } = new AbortController();
    const client = createClient({ url });
    for (let calls = 0; calls < 50; calls++) await client.metrics([], { signal });
    process.off("warning", warn);
    expect(warnings).to.deep.equal([]);
  });

  it("repeats a request whose response is cut off", async () => {
    answer = (request, response) => {
      if (asked > 1) return ready(request, response);
      response.writeHead(200, { "content-length": "100" }).write('{"status":200,', () => request.socket.destroy());
    };
    expect(await createClient({ url }).metrics([])).to.deep.equal([]);
    expect(asked).to.equal(2);
  });

  it("rejects deletions without a last line, or with the error of the last line", async () => {
    answer = (_, response) => response.end('{"request_id":"a","completed":false}\n');
    expect(await errorOf(createClient({ url }).deleteLines("{}", "key"))).to.be.instanceOf(NotReached);
    answer = (_, response) =>
      response.end('{"request_id":"a"}\n{"type":"error","status":422,"errors":[{"message":"No"}]}\n');
    expect(await errorOf(createClient({ url }).deleteLines("{}", "key"))).to.include({ status: 422, message: "No" });
  });

  it("rejects an export without a last line", async () => {
    for (const text of ['{"type":"profile"}\n', '{"type":"profile"}\n{"type":"message"}\n', ""]) {
      answer = (_, response) => response.end(text);
      const lines: unknown[] = [];
      const all = (async () => {
        for await (const line of createClient({ url }).exportEntity("user", "email", "a@b.c")) lines.push(line);
      })();
      expect(await errorOf(all))
        .to.be.instanceOf(NotReached)
        .that.has.property("message")
        .that.contains("incomplete");
      expect(lines).to.have.length(text.split("\n").length - 1);
    }
  });

  it("reports that another program answered", async () => {
    answer = (_, response) => response.end("<html></html>");
    const error = await errorOf(createClient({ url }).metrics([]));
    expect(error).to.be.instanceOf(NotReached).that.has.property("message").that.contains("not JSON");
    expect(asked).to.equal(1);
  });

  it("does not repeat a refused request", async () => {
    for (const status of [400, 409]) {
      asked = 0;
      answer = (_, response) =>
        response.writeHead(status).end('{"errors":[{"code":"x","path":"y","message":"It is wrong"}]}');
      expect(await errorOf(createClient({ url }).metrics([]))).to.include({ status, message: "It is wrong" });
      expect(asked).to.equal(1);
    }
  });

  it("has the X-Request-Id of the response in its errors, or undefined", async () => {
    answer = (_, response) => response.writeHead(400, { "x-request-id": "r-1" }).end("{}");
    expect(await errorOf(createClient({ url }).metrics([]))).to.include({ requestId: "r-1" });
    answer = (_, response) => response.writeHead(502).end("<html></html>");
    expect(await errorOf(createClient({ url }).metrics([]))).to.include({ status: 502, requestId: undefined });
  });

  it("reports that the service is unreachable, with the cause", async () => {
    answer = (request) => request.socket.destroy();
    const error = await errorOf(createClient({ url, tries: 1 }).metrics([]));
    expect(error).to.be.instanceOf(NotReached).that.has.property("cause");
  });

  it("rejects a key that no header can carry, without sending or repeating it", async () => {
    answer = ready;
    for (const key of ["em_…", "em_a\nsecret"]) {
      const error = await errorOf(createClient({ url, key }).metrics([]));
      expect(error).to.be.instanceOf(TypeError);
      expect(String(error)).to.equal("TypeError: The key holds a character that no header has");
    }
    expect(asked).to.equal(0);
  });

  it("reports a truncated response of lines without quoting it", async () => {
    answer = (_, response) => response.end('{"type":"profile"}\n{"type":"message","body":{"city":"Lon');
    const readAll = async () => {
      for await (const line of createClient({ url }).exportEntity("user", "_uid", "x"))
        expect(line).to.deep.equal({ type: "profile" });
    };
    const error = await errorOf(readAll());
    expect(error).to.be.instanceOf(NotReached);
    expect(String((error as Error).stack)).to.not.contain("Lon");
  });

  it("returns a 503 of /ready at once, and continues a list after the given id", async () => {
    const data = { ready: false, degraded: true, stores: [] };
    answer = (_, response) => response.writeHead(503, { "retry-after": "5" }).end(JSON.stringify({ data, errors: [] }));
    expect(await createClient({ url }).ready()).to.deep.equal(data);
    expect(asked).to.equal(1);
    answer = (request, response) => {
      expect(request.url).to.equal("/api/segment?after=m");
      ready(request, response);
    };
    for await (const _ of createClient({ url }).segments({ after: "m" })) expect.fail("there is none");
    answer = (_, response) => response.end("<html>a page of a proxy</html>");
    expect(await errorOf(createClient({ url }).entity("user", "_uid", "x"))).to.be.instanceOf(NotReached);
  });

  it("ends a request, and the wait for another try, by the caller's signal", async () => {
    const stop = new AbortController();
    answer = (_, response) => {
      response.writeHead(503, { "retry-after": "20" }).end("{}");
      setImmediate(() => stop.abort(new Error("no longer wanted")));
    };
    const waiting = errorOf(createClient({ url }).metrics([], { signal: stop.signal }));
    expect(await waiting).to.include({ message: "no longer wanted" });
    answer = () => {};
    const gone = AbortSignal.abort(new Error("not wanted at all"));
    expect(await errorOf(createClient({ url }).metrics([], { signal: gone }))).to.include({
      message: "not wanted at all",
    });
  });

  it("ends a call by the caller's signal while its body is pending, also if fetch does not", async () => {
    const ofLines = async (client: Client, signal: AbortSignal) => {
      for await (const _ of client.exportEntity("user", "_uid", "x", { signal })) expect.fail("there is none");
    };
    for (const call of [ofLines, (client: Client, signal: AbortSignal) => client.metrics([], { signal })]) {
      const stop = new AbortController();
      const pull = () => {
        setImmediate(() => stop.abort(new Error("no longer wanted")));
      };
      const client = createClient({ url, fetch: async () => new Response(new ReadableStream({ pull })) });
      expect(await errorOf(call(client, stop.signal))).to.include({ message: "no longer wanted" });
    }
  });
});
