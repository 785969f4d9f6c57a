import { expect } from "chai";
import { startService, type TestService } from "../support/service.js";

const START = Date.UTC(2025, 0, 8, 10);
const MINUTE = 60_000;

interface Meta {
  readonly created_at: string;
  readonly modified_at: string;
  readonly streams: readonly string[];
}

describe("the meta of an entity", () => {
  let now: number;
  let service: TestService;
  beforeEach(async () => {
    now = START;
    service = await startService({ roles: ["api"] }, { clock: () => now });
  });
  afterEach(() => service.stop());

  /** Sends messages to a stream so many minutes after the start. */
  const send = async (minute: number, stream: string, ...messages: object[]) => {
    now = START + minute * MINUTE;
    const path = `/collect/json/${stream}?timestamp_field=at`;
    expect((await service.fetch(path, { method: "POST", json: messages })).status).to.equal(200);
  };
  /** Minutes of creation and change, and the streams. */
  const meta = async (id: string) => {
    const answer = await service.fetch(`/api/entity/user/user_id/${id}`);
    expect(answer.status).to.equal(200);
    const { created_at, modified_at, streams } = ((await answer.json()) as { meta: Meta }).meta;
    for (const text of [created_at, modified_at]) expect(text).to.equal(new Date(text).toISOString());
    return [created_at, modified_at].map((text) => (Date.parse(text) - START) / MINUTE).concat(streams as never[]);
  };

  it("contains the arrival of the first message, that of the newest change, and the streams of all messages", async () => {
    await send(1, "web", { user_id: "a", plan: "free" });
    expect(await meta("a")).to.deep.equal([1, 1, "web"]);
    await send(2, "app", { user_id: "a", plan: "gold" });
    expect(await meta("a")).to.deep.equal([1, 2, "app", "web"]);
    await send(3, "Web", { user_id: "a", segments: ["s"] });
    expect(await meta("a")).to.deep.equal([1, 3, "Web", "app", "web"]);
    await send(4, "web", { user_id: "a", segments: { remove: ["s"] } }, { user_id: "b" });
    expect(await meta("a")).to.deep.equal([1, 4, "Web", "app", "web"]);
    await send(5, "web", { user_id: "a", email: "a@x.org" });
    expect(await meta("a")).to.deep.equal([1, 5, "Web", "app", "web"]);
    await send(6, "web", { user_id: "a", plan: null });
    expect(await meta("a")).to.deep.equal([1, 6, "Web", "app", "web"]);
    expect(await meta("b")).to.deep.equal([4, 4, "web"]);
  });

  for (const [what, message] of [
    ["that says what is known already", { plan: "gold", list: [1, { a: null }], segments: ["s"] }],
    ["that is older than what is known", { plan: "free", segments: [], at: new Date(START - MINUTE).toISOString() }],
    ["that names the entity alone", {}],
    ["that removes what is not there", { other: null, segments: { remove: ["t"] } }],
  ] as const) {
    it(`does not count as changed by a message ${what}`, async () => {
      const at = new Date(START).toISOString();
      await send(1, "web", { user_id: "a", at, plan: "gold", list: [1, { a: null }], segments: ["s"] });
      await send(2, "late", { user_id: "a", at, ...message });
      expect(await meta("a")).to.deep.equal([1, 1, "late", "web"]);
    });
  }

  it("is that of all entities that are merged: the first arrival, the newest change, the streams of each", async () => {
    await send(1, "web", { user_id: "old", plan: "free" });
    await send(2, "app", { user_id: "mid", email: "m@x.org" });
    await send(3, "shop", { user_id: "new", plan: "gold" });
    await send(4, "join", { user_id: ["old", "new"] });
    expect(await meta("old")).to.deep.equal([1, 4, "join", "shop", "web"]);
    await send(5, "app", { user_id: "mid", city: "Oslo" });
    await send(6, "join", { user_id: ["new", "mid"] });
    for (const id of ["old", "mid", "new"]) expect(await meta(id)).to.deep.equal([1, 6, "app", "join", "shop", "web"]);
  });

  it("of one that came back after its deletion is that of its later messages alone", async () => {
    await send(1, "web", { user_id: "a", plan: "free" });
    now = START + 2 * MINUTE;
    await service.fetch("/api/entity/user/user_id/a", { method: "DELETE" });
    await send(3, "app", { user_id: "a", plan: "gold" });
    expect(await meta("a")).to.deep.equal([3, 3, "app"]);
  });
});
