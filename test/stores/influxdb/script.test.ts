import { is_valid_flux } from "@influxdata/flux-lsp-node";
import { expect } from "chai";
import fc from "fast-check";
import { dimensions, HOUR } from "../../../src/metrics/dimensions.js";
import type { SeriesWindow } from "../../../src/metrics/ports.js";
import { isDimensionId } from "../../../src/reserved-names.js";
import { fluxScript, slotQueries } from "../../../src/stores/influxdb/queries.js";
import { hostileIds } from "../hostile-ids.js";

const from = Date.UTC(2024, 1, 28);

/** The windows of every type of these ids, in every dimension, over 56 hours. */
const windowsOf = (ids: readonly string[]): SeriesWindow[] =>
  dimensions.flatMap((dimension) =>
    ids.flatMap((id) =>
      dimension.storedTypes.map((type) => ({ series: { dimension, id, type }, from, to: from + 56 * HOUR })),
    ),
  );

const bucket = `a "b" $\{c} \\`;

const scriptsOf = (windows: readonly SeriesWindow[]) => slotQueries(windows).map((query) => fluxScript(bucket, query));

describe("Flux scripts", () => {
  it("are valid for any ids, including hostile ones, and compare each id once", () => {
    for (const id of hostileIds) expect(isDimensionId(id), id).to.equal(true);
    const random = fc.string({ unit: "binary", minLength: 1, maxLength: 20 }).filter(isDimensionId);
    const id = fc.oneof(random, fc.constantFrom(...hostileIds));
    fc.assert(
      fc.property(fc.uniqueArray(id, { minLength: 1, maxLength: 40 }), (ids) => {
        for (const script of scriptsOf(windowsOf(ids))) {
          expect(is_valid_flux(script), script).to.equal(true);
          for (const part of withoutTexts(script).split("yield").slice(0, 2))
            expect(part.match(/r\.dimension_id == ""/g)).to.have.length(ids.length);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("request many series in a few scripts of bounded size, each series once", () => {
    const ids = Array.from({ length: 5_000 }, (_, i) => `${'é"'.repeat(i % 60)}${i}`);
    const windows = windowsOf(ids);
    const queries = slotQueries(windows);
    expect(new Set(queries.flatMap((query) => [...query.windows.keys()])).size).to.equal(windows.length);
    expect(queries.reduce((sum, query) => sum + query.windows.size, 0)).to.equal(windows.length);
    expect(queries.length).to.be.below(windows.length / 100);
    for (const query of queries.slice(0, 5)) {
      const script = fluxScript("bucket", query);
      expect(script.length).to.be.below(200_000);
      expect(is_valid_flux(script)).to.equal(true);
    }
  });

  it("request windows close together at once, and distant windows separately", () => {
    const [dimension] = dimensions as [(typeof dimensions)[0]];
    const window = (id: string, hour: number, hours: number): SeriesWindow => ({
      series: { dimension, id, type: "size" },
      from: from + hour * HOUR,
      to: from + (hour + hours) * HOUR,
    });
    const count = (...windows: SeriesWindow[]) => slotQueries(windows).length;
    expect(count(window("a", 0, 0))).to.equal(0);
    expect(count(window("a", 0, 10), window("b", 0, 10), window("a", 0, 10))).to.equal(1);
    expect(count(window("a", 0, 10), window("b", 5, 10), window("c", 900, 5))).to.equal(1);
    expect(count(window("a", 0, 10), window("a", 50_000, 10))).to.equal(2);
    expect(count(window("a", 0, 10), window("b", 0, 10), window("b", 20, 10))).to.equal(1);
    expect(count(...Array.from({ length: 50 }, (_, i) => window("a", 20 * i, 10)))).to.equal(1);
    const [query] = slotQueries([window("a", 5, 10), window("b", 0, 7)]);
    expect(query).to.include({ from, to: from + 15 * HOUR });
  });

  it("request only instants that InfluxDB can represent", () => {
    const [dimension] = dimensions as [(typeof dimensions)[0]];
    const series = { dimension, id: "a", type: "size" };
    const [query] = slotQueries([{ series, from: Date.UTC(-500), to: Date.UTC(9_000) }]);
    expect(query).to.include({ from: 0, to: Date.UTC(2262) });
    expect(slotQueries([{ series, from: Date.UTC(-500), to: Date.UTC(-400) }])).to.deep.equal([]);
  });
});

/** A script with nothing left in its texts. */
function withoutTexts(script: string): string {
  return script.replace(/"(?:\\.|[^"\\])*"/gsu, '""');
}
