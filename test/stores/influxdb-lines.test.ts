import { expect } from "chai";
import { experience, stream } from "../../src/metrics/dimensions.js";
import { lineTexts } from "../../src/stores/influxdb/lines.js";

describe("lines for InfluxDB", () => {
  const from = 1_708_000_000 * 3_600;

  it("come in texts that a server takes, in order", () => {
    const values = Float64Array.from({ length: 120_000 }, (_, i) => i);
    const many = { series: { dimension: stream, id: "a", type: "size" }, from, values };
    const series = { dimension: experience, id: "é".repeat(256), type: "potentialreach" };
    const long = { series, from, values: new Float64Array(60_000) };
    const texts = [...lineTexts("clients", [many, long])];
    expect(texts.every((text) => text.length <= 8_001_000 && text.split("\n").length <= 50_001)).to.equal(true);
    expect(texts.join("").split("\n")).to.have.length(180_001);
    expect(texts.length).to.be.at.most(6);
    expect(texts.join("")).to.match(/^[^\n]* value=0 \d+\n[^\n]* value=1 /);
  });
});
