import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system in memory for one test. */
export interface SmallDisk {
  readonly dir: string;
  /** Leaves no byte of space. */
  fill(): void;
  /** Frees all space. */
  free(): void;
  remove(): void;
}

/** Mounts a disk of `mib` MiB; undefined if that is not allowed: it needs Linux and root. */
export function mountSmallDisk(mib: number): SmallDisk | undefined {
  const dir = mkdtempSync(join(tmpdir(), "entity-metrics-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mib}m`, "tmpfs", dir], { stdio: "ignore" });
  } catch {
    rmSync(dir, { recursive: true });
    return undefined;
  }
  const filler = join(dir, "filler");
  return {
    dir,
    fill() {
      const file = openSync(filler, "a");
      for (const block of [Buffer.alloc(65_536), Buffer.alloc(1)]) writeUntilFull(file, block);
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync("umount", ["-l", dir]);
      rmSync(dir, { recursive: true });
    },
  };
}

/** Limits the size of the files that a process writes; without `bytes` removes the limit. It needs Linux. */
export function limitFileSize(pid: number | undefined, bytes?: number): void {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes ?? "unlimited"}:`]);
}

function writeUntilFull(file: number, block: Buffer): void {
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
