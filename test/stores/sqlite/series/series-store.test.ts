import { expect } from "chai";
import { stream } from "../../../../src/metrics/dimensions.js";
import { seriesStoreContract } from "../../../contracts/series-store.contract.js";
import { temporaryStores } from "../../../support/stores.js";

seriesStoreContract("embedded", temporaryStores);

describe("series on the embedded engine", () => {
  it("writes all columns of a call or none", async () => {
    const { series: store, close } = await temporaryStores();
    const from = Date.UTC(2024, 0, 1);
    const good = { dimension: stream, id: "good", type: "size" };
    const bad = { dimension: stream, id: undefined as unknown as string, type: "size" };
    try {
      const columns = [good, bad].map((series) => ({ series, from, values: Float64Array.of(1) }));
      const failure = await store.write("clients", columns).then(
        () => "none",
        () => "some",
      );
      expect(failure).to.equal("some");
      const read = async () => [...((await store.read([{ series: good, from, to: from + stream.slotMs }]))[0] ?? [])];
      expect(await read()).to.deep.equal([Number.NaN]);
      await store.write("clients", columns.slice(0, 1));
      expect(await read()).to.deep.equal([1]);
    } finally {
      await close();
    }
  });
});
