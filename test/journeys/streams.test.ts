import { expect } from "chai";
import { refused } from "../support/bad-input.js";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfEachTest } from "../support/service.js";

const HOUR = 3_600_000;
const START = Date.UTC(2025, 0, 6, 10);

interface Page {
  readonly data: readonly { readonly stream: string; readonly slot: object; readonly day: number }[];
  readonly meta: { readonly next: string | null };
}

describe("The list of streams", () => {
  let now: number;
  beforeEach(() => {
    now = START + HOUR / 2;
  });
  const service = serviceOfEachTest({ recorder: { tick_ms: 5 } }, { clock: () => now });

  const send = async (stream: string, ...messages: object[]) => {
    const path = `/collect/json/${stream}?timestamp_field=at`;
    expect((await service.fetch(path, { method: "POST", json: messages })).status).to.equal(200);
  };
  const list = async (query = "") => (await (await service.fetch(`/api/stream${query}`)).json()) as Page;

  it("is empty at first, and shows at once what arrives, in the slot of its event time", async () => {
    expect(await list()).to.deep.equal({ status: 200, message: "success", data: [], meta: { next: null, total: 0 } });
    await send("web", { user_id: "a" }, { user_id: "b", at: START - HOUR }, { user_id: "c", at: START - 25 * HOUR });
    const [web] = (await list()).data;
    expect(web).to.deep.equal({
      stream: "web",
      last_message_at: new Date(now).toISOString(),
      slot: { ts: String(START), count: 1 },
      day: 1,
    });
  });

  it("counts an hour that has ended among the last 24, once, whether or not the recorder has saved it", async () => {
    await send("web", { user_id: "a" }, { user_id: "b" });
    for (let hour = 1; hour <= 25; hour += 1) {
      now = START + hour * HOUR + 1;
      const [web] = (await list()).data;
      const expected = { slot: { ts: String(START + hour * HOUR), count: 0 }, day: hour <= 24 ? 2 : 0 };
      expect(web, `${hour} h later`).to.deep.include(expected);
    }
  });

  it("names no stream that has points alone, and leaves out none whose messages were erased", async () => {
    await send("web", { user_id: "a" });
    await writePoints(service, [pointOf("stream", "points", 7, START)]);
    const before = await list();
    await service.fetch("/api/entity/user/user_id/a", { method: "DELETE" });
    expect(before.data.map(({ stream }) => stream)).to.deep.equal(["web"]);
    expect(await list()).to.deep.equal(before);
  });

  it("comes in pages", async () => {
    const names = ["a", "b.c", "b_c", "Z"];
    for (const name of names) await send(name, { user_id: "a" });
    const first = await list("?limit=3");
    expect(first.data.map(({ stream }) => stream)).to.deep.equal(["Z", "a", "b.c"]);
    const second = await list(`?limit=3&after=${first.meta.next}`);
    expect(second.data.map(({ stream }) => stream)).to.deep.equal(["b_c"]);
    expect(second.meta.next).to.equal(null);
    await refused(service, "/api/stream?afer=a", {}, 400);
  });
});
