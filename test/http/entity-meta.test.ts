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
});
