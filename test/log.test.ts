import { expect } from "chai";
import { startChild } from "./support/child-service.js";

/** Logs an error with the command that the client of Redis adds to errors of the server. */
const script = `
  import { openLog } from "./src/log.ts";
  const refused = Object.assign(new Error("WRONGPASS wrong"), { code: "E", command: { name: "hello", args: ["AUTH", "a-secret"] } });
  openLog("trace").error({ err: new Error("no answer", { cause: refused }) }, "it failed");
  openLog("trace").error({ err: refused }, "it failed");
`;

describe("the log", () => {
  it("contains the message, code and stack of an error and of its causes, and no other property", async () => {
    const { ended, err } = startChild({}, ["--import", "tsx", "--input-type=module", "-e", script]);
    expect(await ended, err()).to.equal(0);
    expect(err()).not.to.contain("a-secret");
    const [first, second] = err()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(first).to.include({ level: 50, msg: "it failed" });
    expect(first.err).to.include({ type: "Error", message: "no answer" });
    expect(first.err.stack).to.match(/^Error: no answer\n +at /);
    expect(first.err.cause).to.include({ message: "WRONGPASS wrong", code: "E" });
    expect(second.err).to.have.all.keys("type", "message", "code", "stack");
  });

  it("drops lines that cannot be written, and does not end the process", async () => {
    const script = `
      import fs from "node:fs";
      import { openLog } from "./src/log.ts";
      const { writeSync } = fs;
      let full = true;
      fs.writeSync = (handle, ...rest) => {
        if (handle === 2 && full) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
        return writeSync(handle, ...rest);
      };
      const log = openLog("info");
      for (let i = 0; i < 2_000; i += 1) log.info({ i }, "a line of some length, which is written to a full disk");
      full = false;
      log.info("there is room again");
      console.log("went on");
    `;
    const { ended, out, err } = startChild({}, ["--import", "tsx", "--input-type=module", "-e", script]);
    expect(await ended, err()).to.equal(0);
    expect(out()).to.equal("went on\n");
    expect(err().trim().split("\n")).to.have.length(1);
    expect(JSON.parse(err())).to.include({ msg: "there is room again" });
  });
});
