import fc from "fast-check";
import type { RootHookObject } from "mocha";
import { beginTest, endTest } from "./ends-with-test.js";

// The message of a failed property contains its counterexample: workers of mocha pass on messages, not causes.
fc.configureGlobal({ includeErrorInReport: true });

/** An unhandled rejection ends the process of the service. Mocha ignores it, unless it is thrown. */
function fail(error: unknown): never {
  throw error;
}

export const mochaHooks: RootHookObject = {
  beforeAll() {
    process.on("unhandledRejection", fail);
  },
  beforeEach: beginTest,
  afterEach: endTest,
  afterAll() {
    process.off("unhandledRejection", fail);
  },
};
