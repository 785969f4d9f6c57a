import { expect } from "chai";
import { PAGE_BYTES } from "../../src/entities/ports.js";
import type { StoredEntity } from "../../src/entities/profile/entity.js";
import { openLog } from "../../src/log.js";
import { keep } from "../support/commits.js";
import { gaugeOf } from "../support/requests.js";
import { serviceOfSuite } from "../support/service.js";
import { until } from "../support/until.js";

describe("P28: large profiles", () => {
  const lines: { readonly entity?: string }[] = [];
  const log = openLog("silent");
  log.error = (line: object) => void lines.push(line);
  const service = serviceOfSuite({ limits: { read_bytes: 8 * PAGE_BYTES }, roles: ["api"] }, { log });
  /** Encrypted bytes and number of the profiles of each `load` for the list of members. */
  let loaded: { readonly bytes: number; readonly profiles: number }[];
  /** The profiles that the last read has found. */
  let found: readonly StoredEntity[];

  const text = (megabytes: number) => "x".repeat(megabytes * 1_000_000);
  const collect = async (...messages: object[]) => {
    for (const json of messages)
      expect((await service.fetch("/collect/json/web", { method: "POST", json })).status).to.equal(200);
  };
  const read = (value: string) => service.fetch(`/api/entity/user/user_id/${value}`);
  const members = async (json: object = {}) => {
    const answer = await service.fetch("/api/segment/s/members", { method: "POST", json });
    const all = (await answer.text()).trimEnd().split("\n");
    return all.map((line) => JSON.parse(line));
  };
  const reserved = () => gaugeOf(service, "metric_read_bytes");
  const isReleased = () => until("the memory is released", async () => (await reserved()) === 0);

  before(async () => {
    const segments = ["s"];
    await collect(
      Array.from({ length: 30 }, (_, i) => ({ user_id: `small${i}`, segments })),
      ...["a", "b", "c"].map((user_id) => ({ user_id, about: text(0.4), segments })),
      ...["a", "b", "c"].map((user_id) => ({ user_id, more: text(0.4) })),
    );
    const { entities } = service.service.stores;
    const { find, load } = entities;
    entities.find = async (...args) => {
      const result = await find(...args);
      found = [...result.profiles.values()];
      return result;
    };
    entities.load = async (...args) => {
      const result = await load(...args);
      const sizes = [...result.profiles.values()].map(({ sealed }) => sealed.length);
      loaded.push({ bytes: sizes.reduce((sum, size) => sum + size, 0), profiles: sizes.length });
      return result;
    };
  });
  beforeEach(() => {
    loaded = [];
    found = [];
  });

  it("reserve memory before they are decrypted, result in 503 if it is short, and release it", async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, (_, i) => read("abc"[i % 3] as string)));
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).to.include(200);
    for (const answer of answers) {
      expect(answer.status).to.be.oneOf([200, 503]);
      if (answer.status === 503) expect(answer.headers.get("retry-after")).to.equal("1");
      else expect(Object.keys(((await answer.json()) as { data: object }).data)).to.include.members(["about", "more"]);
    }
    await isReleased();
    const again = await read("a");
    expect(again.status).to.equal(200);
    await again.arrayBuffer();
    await isReleased();
  });

  it("are listed in pieces of at most one page of bytes, whatever precedes them", async () => {
    const listed = await members({ fields: ["about"] });
    expect(listed.at(-1)).to.deep.equal({ type: "end", members: 33, next: null });
    expect(listed.filter(({ attributes }) => attributes?.about?.length === 400_000)).to.have.length(3);
    for (const { bytes, profiles } of loaded) if (profiles > 1) expect(bytes).to.be.at.most(PAGE_BYTES);
    await isReleased();
  });

  it("that are damaged result in 500, are left out of lists, counted and logged by id, and can be deleted", async () => {
    await (await read("b")).arrayBuffer();
    await isReleased();
    const stored = found[0] as StoredEntity;
    const sealed = Uint8Array.from(stored.sealed);
    sealed[5_000] = (sealed[5_000] ?? 0) ^ 1;
    await keep(service.service.stores.entities, { ...stored, sealed });
    lines.length = 0;
    expect((await read("b")).status).to.equal(500);
    const listed = await members();
    expect(listed.at(-1)).to.deep.equal({ type: "end", members: 32, next: null });
    expect(JSON.stringify(listed)).to.not.include('"b"');
    expect(await gaugeOf(service, "damaged_profiles_total")).to.equal(2);
    expect(lines.filter((line) => line.entity === stored.id)).to.have.length(2);
    expect(JSON.stringify(lines)).to.not.include("user_id");
    expect((await service.fetch("/api/entity/user/user_id/b", { method: "DELETE" })).status).to.equal(200);
    expect((await read("b")).status).to.equal(404);
    await isReleased();
  });
});
