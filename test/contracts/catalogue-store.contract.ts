import { expect } from "chai";
import type { CatalogueStore, MarkStore, Segment, SegmentRule } from "../../src/catalogue/ports.js";

type RuledSegment = Parameters<CatalogueStore["putRule"]>[0];

/** Promises of every engine on the catalogue. */
export function catalogueStoreContract(
  name: string,
  open: () => Promise<{ catalogue: CatalogueStore; marks: MarkStore; close(): Promise<void> }>,
): void {
  describe(`the catalogue store of ${name}`, () => {
    let store: CatalogueStore;
    let marks: MarkStore;
    let close: () => Promise<void>;

    beforeEach(async () => {
      const opened = await open();
      store = opened.catalogue;
      marks = opened.marks;
      close = () => opened.close();
    });
    afterEach(() => close());

    const put = async (...ids: string[]) => {
      for (const id of ids) await store.putSegment(segment(id));
    };

    it("returns a segment as it was put last", async () => {
      await put("a");
      await store.putSegment({ id: "a", name: "Ä “quoted” 🙂", table: "company" });
      expect((await store.segmentsById(["a"])).get("a")).to.deep.equal({
        id: "a",
        name: "Ä “quoted” 🙂",
        table: "company",
      });
      expect((await store.segmentsById(["A"])).get("A")).to.equal(undefined);
    });

    it("finds segments by their ids", async () => {
      await store.putSegment({ id: "a", name: "Named", table: "user" });
      await store.putSegment(segment("b"));
      expect(await store.segmentsById([])).to.deep.equal(new Map());
      expect([...(await store.segmentsById(["a", "b", "c"]))]).to.deep.equal([
        ["a", { id: "a", name: "Named", table: "user" }],
        ["b", segment("b")],
      ]);
    });

    it("lists segments by page, in the order of their ids' UTF-8 bytes", async () => {
      const ids = ["A", "a", "a b", "a'; DROP TABLE segment --", "b", "é", "\ue000", "🙂"];
      await put(...ids.toReversed());
      const listed: string[] = [];
      for (;;) {
        const page = await store.segments(listed.at(-1), 3);
        expect(page.length).to.be.at.most(3);
        listed.push(...page.map(({ id }) => id));
        if (page.length < 3) break;
      }
      expect(listed).to.deep.equal(ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
      expect(await store.segmentIds(undefined, 100)).to.deep.equal(listed);
      expect(await store.segmentIds("a", 3)).to.deep.equal(listed.slice(2, 5));
      expect(await store.segmentIds(listed.at(-1), 3)).to.deep.equal([]);
    });

    it("counts all segments, the segments of one table, and experiences", async () => {
      expect([await store.countSegments(), await store.countExperiences()]).to.deep.equal([0, 0]);
      for (const [i, table] of ["user", "account", "user"].entries()) {
        await store.putSegment({ id: `s${i}`, name: `s${i}`, table });
      }
      await store.putExperience({ id: "x", name: "X", audience: "s0", goal: "s1" });
      expect([await store.countSegments(), await store.countSegments("user"), await store.countSegments("url")]).to.eql(
        [3, 2, 0],
      );
      expect(await store.countExperiences()).to.equal(1);
    });

    it("finds experiences by their ids", async () => {
      await put("a", "b");
      const plain = { id: "x", name: "X", audience: "a", goal: "b" };
      const grouped = { ...plain, id: "y", group: "g" };
      for (const one of [plain, grouped]) await store.putExperience(one);
      expect(await store.experiencesById([])).to.deep.equal(new Map());
      expect(await store.experiencesById(["y", "z", "x"])).to.deep.equal(
        new Map([
          ["y", grouped],
          ["x", plain],
        ]),
      );
    });

    it("lists the segments of one table alone, by page", async () => {
      for (const [i, table] of ["user", "account", "user", "account", "user"].entries()) {
        await store.putSegment({ id: `s${i}`, name: `s${i}`, table });
      }
      const idsOf = async (...page: Parameters<CatalogueStore["segments"]>) =>
        (await store.segments(...page)).map(({ id }) => id);
      expect(await idsOf(undefined, 2, "user")).to.deep.equal(["s0", "s2"]);
      expect(await idsOf("s2", 2, "user")).to.deep.equal(["s4"]);
      expect(await idsOf(undefined, 10, "account")).to.deep.equal(["s1", "s3"]);
      expect(await idsOf(undefined, 10, "company")).to.deep.equal([]);
    });

    it("stores an experience only if its segments exist, and returns which are missing", async () => {
      await put("a", "b");
      const experience = { id: "x", name: "X", audience: "a", goal: "b" };
      expect(await store.putExperience({ ...experience, goal: "c" })).to.deep.equal({ missing: ["goal"] });
      expect(await store.putExperience({ ...experience, audience: "c", goal: "d" })).to.deep.equal({
        missing: ["audience", "goal"],
      });
      expect((await store.experiencesById(["x"])).get("x")).to.equal(undefined);
      expect(await store.putExperience({ ...experience, group: "g" })).to.deep.equal({ missing: [] });
      expect((await store.experiencesById(["x"])).get("x")).to.deep.equal({ ...experience, group: "g" });
      expect(await store.putExperience(experience)).to.deep.equal({ missing: [] });
      expect((await store.experiencesById(["x"])).get("x")).to.deep.equal(experience);
    });

    const one = async (id: string) => (await store.segmentsById([id])).get(id);
    const ruled = (id: string, more: Partial<RuledSegment> = {}): RuledSegment => {
      return { ...segment(id), rule: { attribute: "plan" }, names: [], ...more };
    };
    const putRule = async (put: RuledSegment, at = 1) => store.putRule(put, (await store.rules()).generation, at);

    it("returns a segment by rule with its rule, which is computing since it changed", async () => {
      await put("pushed");
      expect(await putRule(ruled("r", { names: ["pushed"] }), 7)).to.equal("stored");
      const { generation: change, segments } = await store.rules();
      const stored = {
        ...segment("r"),
        byRule: { rule: { attribute: "plan" }, names: ["pushed"], change, computing: { since: 7 } },
      };
      expect(segments).to.deep.equal([stored]);
      expect(await one("r")).to.deep.equal(stored);
      expect(await store.segmentsById(["r"])).to.deep.equal(new Map([["r", stored]]));
      expect(await store.segments(undefined, 9)).to.deep.equal([segment("pushed"), stored]);
    });

    it("raises the generation when a rule changes, and not when an equal one is put", async () => {
      await putRule(ruled("r"));
      const { generation } = await store.rules();
      expect(await putRule(ruled("r", { name: "renamed" }), 2)).to.equal("stored");
      expect((await store.rules()).generation).to.equal(generation);
      expect(await one("r")).to.deep.include({ name: "renamed" });
      expect((await one("r"))?.byRule?.computing).to.deep.equal({ since: 1 });
      expect(await store.putRule(ruled("r", { rule: { attribute: "age" } }), generation, 3)).to.equal("stored");
      expect((await store.rules()).generation).to.be.greaterThan(generation);
      expect(await store.putRule(ruled("r"), generation, 4)).to.equal("outdated");
    });

    it("makes a mark with each rule that differs from the stored one, in its commit, and with no other", async () => {
      const { generation } = await store.rules();
      await putRule(ruled("r"), 7);
      await putRule(ruled("r", { name: "renamed" }), 8);
      await store.putRule(ruled("r", { rule: { attribute: "age" } }), generation, 9);
      await putRule(ruled("r", { rule: { attribute: "age" } }), 10);
      const made = await marks.marks({ from: 0, to: 99 }, undefined, 9);
      const about = { dimension: "segment", dimensionId: "r" };
      expect(made.map(({ id: _, ...mark }) => mark).sort((a, b) => a.at - b.at)).to.deep.equal([
        { at: 7, text: "Rule made", ...about },
        { at: 10, text: "Rule changed", ...about },
      ]);
    });

    it("never changes the kind of a segment, nor the table of one by rule", async () => {
      await put("pushed");
      await putRule(ruled("r"));
      expect(await putRule(ruled("pushed"))).to.equal("pushed");
      expect(await store.putSegment(segment("r"))).to.equal("by-rule");
      expect(await putRule(ruled("r", { table: "company" }))).to.equal("other-table");
      expect(await one("pushed")).to.deep.equal(segment("pushed"));
      expect(await one("r")).to.deep.include({ table: "user" });
    });

    it("stores how far a rule is computed until it is complete, but not for an earlier rule or from earlier progress", async () => {
      await putRule(ruled("r"));
      const byRule = async () => (await one("r"))?.byRule as SegmentRule;
      const first = await byRule();
      const progress = { since: 1, start: { lap: 2, after: "e", passed: 3 } };
      expect(await store.setComputing("r", first, progress)).to.equal(true);
      expect((await byRule()).computing).to.deep.equal(progress);
      expect(await store.setComputing("r", first, undefined)).to.equal(false);
      const second = await byRule();
      await putRule(ruled("r", { rule: { attribute: "age" } }), 5);
      expect(await store.setComputing("r", second, undefined)).to.equal(false);
      expect((await byRule()).computing).to.deep.equal({ since: 5 });
      expect(await store.setComputing("r", await byRule(), undefined)).to.equal(true);
      expect((await byRule()).computing).to.equal(undefined);
      expect(await store.setComputing("r", await byRule(), progress)).to.equal(true);
      expect((await byRule()).computing).to.deep.equal(progress);
      expect(await store.setComputing("absent", await byRule(), undefined)).to.equal(false);
    });

    it("does not delete a segment that a rule names, and names the users", async () => {
      await put("a");
      const ids = Array.from({ length: 12 }, (_, at) => `r${String(at).padStart(2, "0")}`);
      for (const id of ids) await putRule(ruled(id, { names: ["a"] }));
      expect(await store.deleteSegment("a", 1)).to.deep.equal({ experiences: [], rules: ids.slice(0, 10) });
      for (const id of ids) expect(await store.deleteSegment(id, 1)).to.equal("deleted");
      expect((await store.rules()).segments).to.deep.equal([]);
      expect(await store.deleteSegment("a", 1)).to.equal("deleted");
    });

    it("lists experiences by page, without deleted ones", async () => {
      await put("a");
      for (const id of ["z", "x", "y"]) await store.putExperience({ id, name: id, audience: "a", goal: "a" });
      expect((await store.experiences(undefined, 2)).map(({ id }) => id)).to.deep.equal(["x", "y"]);
      expect((await store.experiences("y", 2)).map(({ id }) => id)).to.deep.equal(["z"]);
      expect(await store.deleteExperience("y")).to.equal(true);
      expect(await store.deleteExperience("y")).to.equal(false);
      expect((await store.experiences(undefined, 9)).map(({ id }) => id)).to.deep.equal(["x", "z"]);
    });

    for (const part of ["audience", "goal"] as const) {
      it(`does not delete a segment that is the ${part} of an experience`, async () => {
        await put("a", "b");
        await store.putExperience({ id: "x", name: "X", audience: "a", goal: "a", [part]: "b" });
        expect(await store.deleteSegment("b", 1)).to.deep.equal({ experiences: ["x"], rules: [] });
        await store.deleteExperience("x");
        expect(await store.deleteSegment("b", 1)).to.equal("deleted");
        expect(await store.deleteSegment("b", 1)).to.equal("absent");
      });
    }
  });
}

function segment(id: string): Segment {
  return { id, name: id, table: "user" };
}
