import { execFileSync } from "node:child_process";
import { open } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { fileChunks } from "../../src/commands/input-file.js";
import { folderOfSuite } from "../support/files.js";

describe("a file whose first byte arrives alone, as from a pipe,", () => {
  const { at } = folderOfSuite();

  /** Reads `bytes` from a pipe; the rest is written after the first byte was read. */
  async function readThroughPipe(path: string, bytes: Buffer): Promise<string> {
    execFileSync("mkfifo", [path]);
    let wasRead = () => {};
    const isRead = new Promise<void>((resolve) => {
      wasRead = resolve;
    });
    const write = async () => {
      const pipe = await open(path, "w");
      await pipe.write(bytes.subarray(0, 1));
      await isRead;
      await pipe.write(bytes.subarray(1));
      await pipe.close();
    };
    const written = write();
    const chunks: Buffer[] = [];
    for await (const chunk of fileChunks(path, () => wasRead())) chunks.push(chunk);
    await written;
    return Buffer.concat(chunks).toString();
  }

  it("is inflated if it is gzip", async () => {
    expect(await readThroughPipe(at("a.gz"), gzipSync("a line\n"))).to.equal("a line\n");
  });

  it("is read unchanged if it is not gzip", async () => {
    expect(await readThroughPipe(at("a.json"), Buffer.from("a line\n"))).to.equal("a line\n");
  });
});
