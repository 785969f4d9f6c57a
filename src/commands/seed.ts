import { Command } from "commander";
import { StartError } from "../errors.js";
import { madeUpExperiences, madeUpPeople, madeUpSegments, madeUpSeries } from "./made-up-data.js";
import { withProgress } from "./progress.js";
import { runCommand } from "./run-command.js";
import { serviceClient, serviceUrl, URL_HELP, unexpected } from "./service-client.js";

const command = new Command("seed")
  .description(
    "Fills a running service with made-up segments, experiences, streams and people, through its API. Safe to repeat.",
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
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const client = serviceClient({ url, key: process.env.ENTITY_METRICS_KEY, say });
  const people = madeUpPeople();
  const requests: [method: "POST" | "PUT", path: string, body: unknown][] = [];
  for (const { id, name } of madeUpSegments) requests.push(["PUT", `/api/segment/${id}`, { name, table: "user" }]);
  for (const { id, ...experience } of madeUpExperiences) requests.push(["PUT", `/api/experience/${id}`, experience]);
  for (const block of madeUpSeries(weeks, now)) requests.push(["POST", "/api/metric/points", block]);
  for (let from = 0; from < people.length; from += 200)
    requests.push(["POST", "/collect/json/web", people.slice(from, from + 200)]);

  await withProgress("made-up data", { unit: "requests", total: requests.length }, async (progress) => {
    for (const [index, [method, path, body]] of requests.entries()) {
      const answer = await client.send(method, path, JSON.stringify(body), { "Content-Type": "application/json" });
      if (answer.status >= 300) throw unexpected(answer);
      progress.update(index + 1);
    }
  });
}
