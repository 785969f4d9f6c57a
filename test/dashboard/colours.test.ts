import { expect } from "chai";
import { colourOf, coloursOf } from "../../src/dashboard/colours.js";

describe("the colours of series", () => {
  it("depend on the name alone", () => {
    expect(colourOf("stream.web.size")).to.deep.equal(colourOf(["stream", "web", "size"].join(".")));
  });

  it("differ for 48 series of a chart, in whatever order they come", () => {
    const names = Array.from({ length: 48 }, (_, index) => `stream.stream-${index}.size`);
    const colours = coloursOf(names);
    expect(new Set(Array.from(colours.values(), (colour) => JSON.stringify(colour))).size).to.equal(48);
    expect(coloursOf(names.toReversed())).to.deep.equal(colours);
    expect(coloursOf([...names, "one more"]).size).to.equal(49);
    expect(coloursOf(["stream.web.size"]).get("stream.web.size")).to.deep.equal(colourOf("stream.web.size"));
  });

  it("are spread over all colours for names that differ in one letter", () => {
    const names = Array.from({ length: 100 }, (_, index) => `stream.stream-${index}.size`);
    const colours = new Set(names.map((name) => JSON.stringify(colourOf(name))));
    expect(colours.size).to.be.at.least(35);
    for (const name of ["", "顧客", "x".repeat(300)]) expect(colourOf(name).hue).to.be.within(0, 345);
  });
});
