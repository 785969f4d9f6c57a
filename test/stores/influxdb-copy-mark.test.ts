import { is_valid_flux } from "@influxdata/flux-lsp-node";
import { expect } from "chai";
import { marksScript, measurementsScript } from "../../src/stores/influxdb/import.js";

describe("scripts that look for copies into a bucket", () => {
  for (const bucket of ["metrics", 'a" or "b', "back\\slash", "$" + "{env}"]) {
    it(`are Flux for the bucket ${bucket}`, () => {
      for (const script of [marksScript(bucket), measurementsScript(bucket)]) {
        expect(is_valid_flux(script), script).to.equal(true);
      }
    });
  }
});
