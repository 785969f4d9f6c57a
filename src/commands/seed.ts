import { Command } from "commander";
import { StartError } from "../errors.js";
import { madeUpExperiences, madeUpLeavers, madeUpMessages, madeUpSegments, madeUpSeries } from "./made-up-data.js";
import { withProgress } from "./progress.js";
import { runCommand } from "./run-command.js";
import { requireKey, serviceClient, serviceUrl, URL_HELP } from "./running-service.js";

/** Messages of one request. */
const MESSAGES = 200;

const command = new Command("seed")
  .description(
    "Fills a running service with made-up segments, experiences, streams and people, through its API, and erases two of the people. Safe to repeat.",
  )
  .option("--url <address>", URL_HELP)
  .option("--weeks <n>", "weeks of metrics, up to now", "4");

await runCommand(command, async () => {
  const { url, weeks } = command.opts<{ url?: string; weeks: string }>();
  if (!/^([1-9]|[1-4]\d|5[0-2])$/.test(weeks)) throw new StartError("--weeks is a whole number from 1 to 52");
  await seed(serviceUrl(url, process.env), Number(weeks), Date.now());
  return 0;
});

async function seed(url: string, weeks: number, now: number): Promise<void> {
  const client = serviceClient(url, requireKey(process.env.ENTITY_METRICS_KEY));
  const requests: (() => Promise<unknown>)[] = [
    ...madeUpSegments.map(
      ({ id, name }) =>
        () =>
          client.putSegment(id, { name, table: "user" }),
    ),
    ...madeUpExperiences.map(
      ({ id, ...experience }) =>
        () =>
          client.putExperience(id, experience),
    ),
    ...madeUpSeries(weeks, now).map((block) => () => client.writePoints(block)),
  ];
  for (const [stream, messages] of madeUpMessages())
    for (let from = 0; from < messages.length; from += MESSAGES)
      requests.push(() => client.collect(stream, messages.slice(from, from + MESSAGES)).next());
  for (const email of madeUpLeavers) requests.push(() => client.erase("user", "email", email));

  await withProgress("made-up data", { unit: "requests", total: requests.length }, async (progress) => {
    for (const [index, request] of requests.entries()) {
      await request();
      progress.update(index + 1);
    }
  });
}
