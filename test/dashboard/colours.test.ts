import { expect } from "chai";
import { colourOf } from "../../src/dashboard/colours.js";

describe("Colours of series", () => {
  it("A colour depends on the name alone", () => {
    expect(colourOf("stream.web.size")).to.deep.equal(colourOf(["stream", "web", "size"].join(".")));
  });

  it("Names that differ in one letter spread over the colours", () => {
    const names = Array.from({ length: 100 }, (_, index) => `stream.stream-${index}.size`);
    const colours = new Set(names.map((name) => JSON.stringify(colourOf(name))));
    expect(colours.size).to.be.at.least(35);
    for (const name of ["", "顧客", "x".repeat(300)]) expect(colourOf(name).hue).to.be.within(0, 345);
  });
});
