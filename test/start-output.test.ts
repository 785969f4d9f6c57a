import { expect } from "chai";
import { readSettings } from "../src/config/settings.js";
import { startErrorText } from "../src/config/start-output.js";
import { StartError } from "../src/errors.js";

describe("the message of a failed start", () => {
  const { http } = readSettings({ HOST: "h", PORT: "81" });
  const failed = (code: string, syscall = "listen") => Object.assign(new Error("boom"), { code, syscall });
  const rows: [string, unknown, string][] = [
    ["a port for the privileged", failed("EACCES"), "Listening on h:81 is not allowed: set PORT to 1024 or above"],
    [
      "an unknown host name",
      failed("ENOTFOUND", "getaddrinfo"),
      "h is not an address of this machine: set HOST to one that is",
    ],
    ["what the service says itself", new StartError("in\n  two lines"), "in two lines"],
    ["anything else", new Error("first\nsecond"), "entity-metrics cannot start: first second"],
    ["what is no error", "boom", "entity-metrics cannot start: boom"],
  ];
  for (const [what, error, words] of rows) {
    it(`is one line for ${what}`, () => expect(startErrorText(error, { http })).to.equal(words));
  }
});
