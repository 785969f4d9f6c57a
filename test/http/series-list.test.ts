import { expect } from "chai";
import { segment } from "../../src/metrics/dimensions.js";
import { canary, refused } from "../support/bad-input.js";
import { pointOf, writePoints } from "../support/requests.js";
import { serviceOfSuite, startService } from "../support/service.js";

interface Page {
  readonly data: readonly { readonly dimension: string; readonly dimension_id: string }[];
  readonly meta: { readonly next: string | null };
}

describe("the list of series", () => {
  const service = serviceOfSuite();
  before(async () => {
    const point = (dimension: string, id: string, type = "size") =>
      pointOf(dimension, id, 1, Date.UTC(2026, 0, 5, 10), type);
    await writePoints(service, [
      ...["b", "a.b", "a c"].map((id) => point("segment", id)),
      ...["size", "actualreach"].map((type) => point("experience", "x", type)),
      point("experiencegroup", "g", "converted"),
      point("stream", "web"),
    ]);
  });

  const list = async (query = "") => {
    const response = await service.fetch(`/api/series${query}`);
    expect(response.status, query).to.equal(200);
    return (await response.json()) as Page;
  };
  const names = ({ data }: Page) => data.map(({ dimension, dimension_id }) => `${dimension}.${dimension_id}`);

  const all = ["experience.x", "experiencegroup.g", "segment.a c", "segment.a.b", "segment.b", "stream.web"];

  it("contains each series with its dimension, id and stored types", async () => {
    const page = await list();
    expect(page).to.deep.include({ status: 200, message: "success", meta: { next: null, total: 6 } });
    expect(names(page)).to.deep.equal(all);
    expect(page.data[0]).to.deep.equal({
      dimension: "experience",
      dimension_id: "x",
      dimension_types: ["size", "actualreach"],
    });
  });

  it("can be limited to a dimension, also by the name segsize, and to a prefix of ids", async () => {
    expect(names(await list("?dimension=segment"))).to.deep.equal(all.slice(2, 5));
    expect(names(await list("?dimension=segsize"))).to.deep.equal(all.slice(2, 5));
    expect(names(await list("?dimension=segment&prefix=a"))).to.deep.equal(all.slice(2, 4));
    expect(names(await list("?prefix=a."))).to.deep.equal(["segment.a.b"]);
    expect(names(await list("?prefix=A"))).to.deep.equal([]);
    expect(names(await list("?prefix=%25"))).to.deep.equal([]);
  });

  it("contains only segments or experiences outside the catalogue with catalogue=false, in pages and either order", async () => {
    await service.fetch("/api/segment/a.b", { method: "PUT", json: { name: "A" } });
    const missing = ["segment.a c", "segment.b"];
    const query = "?dimension=segment&catalogue=false";
    const page = await list(query);
    expect(names(page)).to.deep.equal(missing);
    expect(page.meta).to.deep.equal({ next: null, total: 2 });
    const first = await list(`${query}&limit=1`);
    expect(names(first)).to.deep.equal(["segment.a c"]);
    expect(first.meta).to.deep.equal({ next: "segment.a c", total: 2 });
    const next = await list(`${query}&limit=1&after=${encodeURIComponent(first.meta.next ?? "")}`);
    expect([names(next), next.meta]).to.deep.equal([["segment.b"], { next: null, total: 2 }]);
    expect(names(await list(`${query}&order=desc`))).to.deep.equal(missing.toReversed());
    expect(names(await list(`${query}&q=B`))).to.deep.equal(["segment.b"]);
    expect(names(await list("?dimension=experience&catalogue=false"))).to.deep.equal(["experience.x"]);
    for (const other of ["?catalogue=false", "?dimension=stream&catalogue=false", "?dimension=segment&catalogue=no"])
      await refused(service, `/api/series${other}`, {}, 400);
  });

  const wrong = ["dimension=x", "dimension=", "dimension=Segment", "after=", "after=x", "after=x.y", "prefx=a"];
  for (const query of [...wrong, `after=${canary}`, `dimension=${canary}`, "prefix=%ff", "prefix=a&prefix=a"]) {
    it(`is refused for ?${query}`, () => refused(service, `/api/series?${query}`, {}, 400));
  }
});

describe("the list of 100,000 series", () => {
  it("has pages up to the last series, and is not compared with the catalogue", async function () {
    this.timeout(120_000);
    const service = await startService({}, { onServers: false });
    const { series } = service.service.stores;
    for (let from = 0; from < 100_000; from += 20_000) {
      const columns = Array.from({ length: 20_000 }, (_, i) => ({
        series: { dimension: segment, id: idOf(from + i), type: "size" },
        from: 0,
        values: Float64Array.of(1),
      }));
      await series.write("clients", columns);
    }
    const tooMany = await service.fetch("/api/series?dimension=segment&catalogue=false");
    expect(await tooMany.text()).to.include("too_many_entries");
    const last = (await (await service.fetch(`/api/series?after=segment.${idOf(99_899)}`)).json()) as Page;
    expect([last.data.length, last.meta.next]).to.deep.equal([100, null]);
  });
});

function idOf(index: number): string {
  return `segment-${String(index).padStart(6, "0")}`;
}
