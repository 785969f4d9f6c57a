import { Command } from "commander";
import { systemClock } from "../clock.js";
import { StartError } from "../errors.js";
import { madeUpRequests, streamRequests } from "./made-up-data.js";
import { largeSet, type MadeUpSet, smallSet } from "./made-up-sets.js";
import { withProgress } from "./progress.js";
import { runCommand } from "./run-command.js";
import { requireKey, serviceClient, serviceUrl, URL_HELP } from "./running-service.js";

const command = new Command("node dist/commands/seed.js")
  .description(
    "Fills a running service with made-up segments, experiences, streams and people, through its API, and requests the deletion of some people. Safe to repeat.",
  )
  .option("--url <address>", URL_HELP)
  .option("--weeks <n>", "weeks of metrics, up to now; default: 6, or 4 with --large")
  .option("--streams", "write only the metrics of streams, so that they continue in a service filled earlier")
  .option("--large", "5,000 segments, 500 streams and 300 experiences");

await runCommand(command, async () => {
  const { url, streams, large, ...options } = command.opts<{
    url?: string;
    weeks?: string;
    streams?: true;
    large?: true;
  }>();
  const weeks = options.weeks ?? (large === undefined ? "6" : "4");
  if (!/^([1-9]|[1-4]\d|5[0-2])$/.test(weeks)) throw new StartError("--weeks is a whole number from 1 to 52");
  const set = large === undefined ? smallSet : largeSet();
  await seed(serviceUrl(url, process.env), Number(weeks), streams === undefined ? madeUpRequests : streamRequests, set);
  return 0;
});

async function seed(url: string, weeks: number, requestsOf: typeof madeUpRequests, set: MadeUpSet): Promise<void> {
  const client = serviceClient(url, requireKey(process.env.ENTITY_METRICS_KEY));
  const requests = requestsOf(client, weeks, systemClock(), set);
  await withProgress("made-up data", { unit: "request", total: requests.length }, async (progress) => {
    for (const [index, request] of requests.entries()) {
      await request();
      progress.update(index + 1);
    }
  });
}
