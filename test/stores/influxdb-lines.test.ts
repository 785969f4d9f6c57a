import { expect } from "chai";
import { experience, stream } from "../../src/metrics/dimensions.js";
import { planes } from "../../src/metrics/ports.js";
import { halves, lineTexts } from "../../src/stores/influxdb/lines.js";

describe("lines for InfluxDB", () => {
  const from = 1_708_000_000 * 3_600;
  const column = (values: readonly number[], id = "a") => ({
    series: { dimension: stream, id, type: "size" },
    from,
    values: Float64Array.from(values),
  });

  it("are one for each slot that says something", () => {
    const values = [1, Number.NaN, -0.5, -0, 1e21, 5e-324];
    const [text = "", ...others] = lineTexts("clients", [column(values), column([2], "b")]);
    expect(others).to.deep.equal([]);
    const line = (id: string, value: string, slot: number) =>
      `stream,dimension_id=${id},dimension_type=size value=${value} ${from + slot * 3_600_000}`;
    expect(text.split("\n")).to.deep.equal([
      line("a", "1", 0),
      line("a", "-0.5", 2),
      line("a", "-0", 3),
      line("a", "1e+21", 4),
      line("a", "5e-324", 5),
      line("b", "2", 0),
      "",
    ]);
    expect([...lineTexts("clients", [])]).to.deep.equal([]);
    expect([...lineTexts("clients", [column([Number.NaN])])]).to.deep.equal([]);
  });

  it("name the field of their plane", () => {
    const fields = planes.map((plane) => [plane, /(\w+)=1 /.exec([...lineTexts(plane, [column([1])])].join())?.[1]]);
    expect(fields).to.deep.equal([
      ["clients", "value"],
      ["recorder", "recorded"],
    ]);
  });

  it("escape what would end a tag, and nothing else", () => {
    const [text] = lineTexts("clients", [column([1], 'a,b c=d\\e\\,f"é#')]);
    expect(text).to.equal(`stream,dimension_id=a\\,b\\ c\\=d\\e\\\\,f"é#,dimension_type=size value=1 ${from}\n`);
  });

  it("come in texts that a server takes, in order", () => {
    const many = column(Array.from({ length: 120_000 }, (_, i) => i));
    const series = { dimension: experience, id: "é".repeat(256), type: "potentialreach" };
    const long = { series, from, values: new Float64Array(60_000) };
    const texts = [...lineTexts("clients", [many, long])];
    expect(texts.every((text) => text.length <= 8_001_000 && text.split("\n").length <= 50_001)).to.equal(true);
    expect(texts.join("").split("\n")).to.have.length(180_001);
    expect(texts.length).to.be.at.most(6);
    expect(texts.join("")).to.match(/^[^\n]* value=0 \d+\n[^\n]* value=1 /);
  });

  it("are cut in two between lines", () => {
    expect(halves("a\nb\n")).to.deep.equal(["a\n", "b\n"]);
    expect(halves("a\nbbbbbb\n")).to.deep.equal(["a\n", "bbbbbb\n"]);
    expect(halves("aaaaaa\nb\n")).to.deep.equal(["aaaaaa\n", "b\n"]);
    expect(halves("a\n")).to.equal(undefined);
  });
});
