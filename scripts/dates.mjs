// The dates on which tests run, and the clock of a process on one of them.
import { spawnSync } from "node:child_process";
import { root } from "./set-up.mjs";

/** Start and time zone of each run. Slots begin at full hours of UTC in every zone. */
export const DATES = [
  ["2027-01-07T03:00Z", "UTC", "a Thursday: as 1970-01-01, from which weeks of slots are counted"],
  ["2027-01-10T23:55Z", "Asia/Kolkata", "the end of a week"],
  ["2027-04-30T23:00Z", "UTC", "the last hour of a month"],
  ["2028-02-29T12:00Z", "Asia/Kolkata", "a leap day"],
  ["2027-03-28T00:59Z", "Europe/Berlin", "an hour is skipped"],
  ["2027-11-07T05:59Z", "America/New_York", "an hour is repeated"],
  ["2026-12-31T23:30Z", "Asia/Kolkata", "the end of a year"],
  ["2027-01-01T00:30Z", "Asia/Kolkata", "the beginning of a year"],
];

/** Returns the date that belongs to the current commit: the first one outside of a clone. */
export function dateOfCommit() {
  const { stdout } = spawnSync("git", ["rev-parse", "--short=8", "HEAD"], { cwd: root, encoding: "utf8" });
  return DATES[(Number.parseInt(stdout, 16) || 0) % DATES.length];
}

/**
 * Returns the environment of processes whose clock is at this date now, or undefined where faketime is missing. It
 * names no servers, which have the machine's clock, and no browser, which is slow to start with another clock. Times of
 * files stay the machine's: to change them, faketime takes a lock that processes share, and a killed one never returns.
 */
export function environmentOn([start, zone]) {
  const seconds = Math.round((Date.parse(start) - Date.now()) / 1000);
  const shift = `${seconds < 0 ? "" : "+"}${seconds}s`;
  const { stdout, error } = spawnSync("faketime", ["-m", "--exclude-monotonic", "-f", shift, "env"], {
    encoding: "utf8",
  });
  if (error) return undefined;
  const shifted = stdout
    .split("\n")
    .filter((line) => /^(LD_PRELOAD|(FAKETIME_)?DONT_FAKE_MONOTONIC|FAKETIME)=/.test(line));
  const servers = Object.keys(process.env).filter((name) => /^TEST_(?!TIMES$)/.test(name));
  return {
    ...Object.fromEntries(servers.map((name) => [name, undefined])),
    ...Object.fromEntries(shifted.map((line) => line.split(/=(.*)/s))),
    NO_FAKE_STAT: "1",
    TEST_CHROMIUM: "",
    TZ: zone,
  };
}
