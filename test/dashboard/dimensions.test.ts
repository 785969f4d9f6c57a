import { expect } from "chai";
import { readAddress } from "../../src/dashboard/address.js";
import { DAY } from "../../src/dashboard/duration.js";
import { chartTitle, unitOf } from "../../src/dashboard/format.js";
import { windowOf } from "../../src/dashboard/time-window.js";
import { serveDimensions } from "./served-dimensions.js";

describe("Dimensions of the dashboard", () => {
  before(() =>
    serveDimensions({
      name: "shop",
      idMeaning: "id of a shop",
      aliases: ["store"],
      slotMs: DAY,
      storedTypes: ["visits"],
      ratios: {},
      countedTypes: ["visits"],
      shown: { visits: { label: "visits", unit: { name: "visits", title: "Visits" } } },
      reservedIds: [],
    }),
  );

  it("A daily dimension that the service adds has the buckets and the chart of its slots and units", () => {
    const address = readAddress("?view=explore&range=24h&interval=1h");
    const viewed = { address, now: 10 * DAY + 1, zone: "UTC" } as const;
    for (const name of ["shop", "store"]) {
      expect(windowOf(viewed, name).interval, name).to.equal("1d");
      expect(chartTitle(unitOf(name, "visits"), "sum", "1d")).to.deep.equal({ title: "Visits", bucket: "per day" });
    }
  });

  it("An unknown type has the unit of its dimension, so that its chart names the refusal", () => {
    expect(unitOf("stream", "nothing")).to.equal("messages");
    expect(chartTitle(unitOf("nothing", "size"), "max", "1h")).to.deep.equal({
      title: "Values",
      bucket: "largest of each hour",
    });
  });
});
