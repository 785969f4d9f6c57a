import { Command } from "commander";
import { StartError } from "../errors.js";
import { Progress } from "./progress.js";
import { runCommand } from "./run-command.js";
import { madeUpPeople, madeUpSegments } from "./seed/people.js";
import { madeUpExperiences, madeUpSeries } from "./seed/series.js";
import { serviceClient } from "./service-client.js";
import { serviceUrl, URL_HELP } from "./service-url.js";

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
  const key = process.env.ENTITY_METRICS_KEY;
  const client = serviceClient({ url, key, say: (line) => process.stderr.write(`${line}\n`) });
  const json = { "Content-Type": "application/json" };
  const post = async (path: string, body: unknown) => {
    const { status } = await client.post(path, JSON.stringify(body), json);
    if (status >= 300) throw new StartError(`POST ${path} was answered with ${status}`);
  };
  const put = async (path: string, body: unknown) => {
    const { status } = await fetch(`${url}${path}`, {
      method: "PUT",
      headers: { ...json, Authorization: key ?? "" },
      body: JSON.stringify(body),
    });
    if (status >= 300) throw new StartError(`PUT ${path} was answered with ${status}`);
  };

  const series = madeUpSeries(weeks, now);
  const people = madeUpPeople();
  const batches = Math.ceil(people.length / 200);
  const progress = new Progress("made-up data", {
    unit: "requests",
    total: madeUpSegments.length + madeUpExperiences.length + series.length + batches,
  });
  let done = 0;
  const step = async (work: Promise<void>) => {
    await work;
    done += 1;
    progress.update(done);
  };
  for (const { id, name } of madeUpSegments) await step(put(`/api/segment/${id}`, { name, table: "user" }));
  for (const { id, ...experience } of madeUpExperiences) await step(put(`/api/experience/${id}`, experience));
  for (const block of series) await step(post("/api/metric/points", block));
  for (let batch = 0; batch < batches; batch += 1)
    await step(post("/collect/json/web", people.slice(batch * 200, batch * 200 + 200)));
  progress.finish();
}
