import { expect } from "chai";
import { addressText, nameOf, nextAddress, readAddress, seriesNamed } from "../../src/dashboard/address.js";

describe("an address of the dashboard", () => {
  it("without a query is the overview of the last 7 days", () => {
    expect(readAddress("")).to.include({ view: "overview", range: "7d", compare: false, smooth: false });
    expect(readAddress("").problems).to.deep.equal([]);
  });

  for (const id of ["a.b.c", "a/b", "100 %", "%2F", "a&b=c", "顧客 + 1", "..", "x#y?z"]) {
    it(`keeps the id ${JSON.stringify(id)}, alone and in the name of a series`, () => {
      expect(readAddress(addressText({ ...readAddress("?view=segment&id=x"), id })).id).to.equal(id);
      const name = nameOf({ dimension: "segment", dimension_id: id, dimension_type: "size" });
      expect(seriesNamed(name)?.dimension_id).to.equal(id);
      expect(readAddress(addressText({ ...readAddress("?view=explore"), series: [name] })).series).to.deep.equal([
        name,
      ]);
    });
  }

  it("keeps each order that the heads of a list offer", () => {
    for (const [view, columns] of [
      ["segments", ["name", "size", "change"]],
      ["experiences", ["name", "change"]],
      ["streams", ["name", "last_message_at", "day", "now", "change"]],
    ] as const)
      for (const sort of columns) expect(readAddress(`?view=${view}&sort=-${sort}`)).to.include({ sort: `-${sort}` });
  });

  for (const [search, problem] of [
    ["?view=constructor", "unknown view"],
    ["?view=__proto__", "unknown view"],
    ["?range=3y", "unknown range, “3y”"],
    ["?range=", "unknown range"],
    ["?view=explore&interval=5h", "unknown interval"],
    ["?view=explore&aggregation=avg", "unknown aggregation"],
    ["?view=explore&smooth=1", "unknown smooth"],
    ["?compare=yes", "unknown compare"],
    ["?view=segments&sort=day", "unknown sort, “day”"],
    ["?view=streams&sort=-size", "unknown sort, “-size”"],
    ["?view=explore&series=web", "without dimension, id and type, “web”"],
    ["?view=segment", "names no segment"],
    ["?from=2026-11-20", "no window"],
    ["?from=2026-11-20&to=2026-11-20", "no window"],
    ["?from=2026-11-21&to=2026-11-20", "no window"],
    ["?from=1&to=2", "no window"],
    ["?from=0001-01-01&to=9999-01-01", "no window"],
    ["?view=overview&smooth=true", "“smooth”, which this view does not use"],
    ["?view=people&q=jane%40example.org", "“q”, which this view does not use"],
    ["?view=deletions&sort=-size", "“sort”, which this view does not use"],
  ] as const) {
    it(`with ${search} is reported as a problem, and replaced by one that can be shown`, () => {
      const address = readAddress(search);
      expect(address.problems).to.have.length(1);
      expect(address.problems[0]).to.include(problem).and.not.include("jane");
      expect(readAddress(addressText(address)).problems).to.deep.equal([]);
    });
  }

  for (const [text, expected] of [
    ["2026-11-20", "2026-11-20T00:00:00.000Z"],
    ["2026-11-20T14:00", "2026-11-20T14:00:00.000Z"],
    ["2026-11-20T14:00:30Z", "2026-11-20T14:00:30.000Z"],
    ["2026-11-20T14:00:00.500%2B02:00", "2026-11-20T12:00:00.500Z"],
  ] as const) {
    it(`with from=${text} begins at ${expected} in every time zone of the browser`, () => {
      const { from, problems } = readAddress(`?from=${text}&to=2026-11-30`);
      expect(problems).to.deep.equal([]);
      expect(new Date(from ?? 0).toISOString()).to.equal(expected);
    });
  }

  it("with view=erasure leads to deletions", () => {
    expect(readAddress("?view=erasure")).to.deep.include({ view: "deletions", problems: [] });
  });

  it("of another view keeps range, window and comparison, and nothing else", () => {
    const from = readAddress(
      "?view=explore&series=stream.web.size&range=4w&interval=1d&aggregation=max&smooth=true&compare=true",
    );
    expect(addressText(nextAddress(from, { view: "overview" }))).to.equal("?view=overview&range=4w&compare=true");
    const list = { ...readAddress("?view=segments&sort=-size&q=a"), cursors: ["x"] };
    expect(nextAddress(list, { q: "ab" }))
      .to.include({ sort: "-size", q: "ab" })
      .and.deep.include({ cursors: [] });
  });
});
