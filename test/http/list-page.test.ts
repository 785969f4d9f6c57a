import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import type { ServiceError } from "../../src/errors.js";
import { type Entry, type ListRequest, type ListSource, listPage } from "../../src/http/lists/list-page.js";
import { collectGarbage } from "../support/collect-garbage.js";

const idOf = (i: number) => `s${String(i).padStart(6, "0")}`;

/** A list of this many entries, which are created when their page is read; `onRead` is called then. */
function listOf(size: number, onRead: (page: readonly Entry[]) => Promise<void> = async () => {}): ListSource<Entry> {
  return {
    count: async () => size,
    async page(after = "", limit) {
      const start = after === "" ? 0 : Number(after.slice(1)) + 1;
      const page = Array.from({ length: Math.min(limit, size - start) }, (_, i) => {
        const id = idOf(start + i);
        return { id, name: id };
      });
      await onRead(page);
      return page;
    },
  };
}

const request = (other: Partial<ListRequest>): ListRequest => ({ sort: "id", order: "asc", limit: 10, ...other });

describe("a page of a list", () => {
  it("by id follows the last entry of the page before, in either order, until each match was on one page", () =>
    fc.assert(
      fc.asyncProperty(
        fc.nat(2_500),
        fc.integer({ min: 1, max: 400 }),
        fc.constantFrom("asc" as const, "desc" as const),
        fc.constantFrom("", "0", "7"),
        async (size, limit, order, q) => {
          const expected = Array.from({ length: size }, (_, i) => idOf(i)).filter((id) => id.includes(q));
          if (order === "desc") expected.reverse();
          const listed: string[] = [];
          let next: string | null = "";
          while (next !== null) {
            const page: Awaited<ReturnType<typeof listPage>> = await listPage(
              request({ order, limit, q, after: next }),
              listOf(size),
            );
            expect(page.meta.total).to.equal(expected.length);
            listed.push(...page.items.map(({ id }) => id));
            next = page.meta.next;
          }
          expect(listed).to.deep.equal(expected);
        },
      ),
      { numRuns: 20 },
    ));

  for (const [title, other] of [
    ["that is searched", { q: "s" }],
    ["in descending order", { order: "desc" }],
  ] as const) {
    it(`of 20,000 entries ${title} does not keep them in memory`, async () => {
      const entries: WeakRef<Entry>[] = [];
      let kept = 0;
      const list = listOf(20_000, async (page) => {
        // The engine keeps dereferenced objects until the end of the round of the event loop.
        await setImmediate();
        collectGarbage();
        kept = Math.max(kept, entries.filter((entry) => entry.deref() !== undefined).length);
        entries.push(...page.map((entry) => new WeakRef(entry)));
      });
      expect((await listPage(request(other), list)).meta.total).to.equal(20_000);
      expect(kept).to.be.at.most(2_000);
    });
  }

  it("by name is refused as soon as more than 10,000 entries match, without reading the others", async () => {
    let read = 0;
    const list = listOf(100_000, async (page) => {
      read += page.length;
    });
    const refused = await listPage(request({ sort: "name" }), list).catch((error: ServiceError) => error);
    expect(refused).to.have.nested.property("issues[0].code", "too_many_entries");
    expect(read).to.be.at.most(11_000);
  });
});
