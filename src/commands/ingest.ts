import { Argument, Command, Option } from "commander";
import { systemClock } from "../clock.js";
import { StartError } from "../errors.js";
import { fileInstantForms } from "../formats/instant.js";
import { precisions } from "../formats/line-protocol.js";
import { dimensionNames } from "../metrics/dimensions.js";
import { readFiles, SeriesNumbers } from "./ingest/read-files.js";
import { type PointOptions, pointFormats } from "./ingest/rows.js";
import { batches, sendBatches } from "./ingest/send-batches.js";
import { type Aggregation, aggregations, SlotAggregator } from "./ingest/slot-aggregator.js";
import { counted } from "./progress.js";
import { runCommand } from "./run-command.js";
import { URL_HELP } from "./running-service.js";
import { sendFiles } from "./send-files.js";

interface Options extends PointOptions {
  readonly aggregation?: Aggregation;
  readonly url?: string;
  readonly rejects?: string;
}

const command = new Command("npm run ingest --")
  .description(
    "Writes metric points from files to a running service. Values of the same save slot are combined before " +
      "anything is sent, so their order does not matter; pass files that share a slot in one run.",
  )
  .addArgument(
    new Argument(
      "<file...>",
      "CSV with a header, lines of JSON, one JSON array of at most 16 MiB, or line protocol; plain or gzip; - is stdin",
    ),
  )
  .addOption(
    new Option("--format <format>", "format of every file (default: detected from its first line)").choices(
      pointFormats,
    ),
  )
  .addOption(
    new Option("--dimension <name>", "dimension of every point (default: from the files)").choices(dimensionNames),
  )
  .option("--dimension-id <id>", "id of every point within the dimension (default: from the files)")
  .option("--dimension-type <type>", "type of every point (default: from the files, else size)")
  .addOption(
    new Option(
      "--aggregation <how>",
      "how the values of a slot are combined (default: sum for stream, last for others)",
    ).choices(aggregations),
  )
  .addOption(
    new Option("--precision <unit>", "unit of the timestamps of line protocol").choices(precisions).default("ns"),
  )
  .option("--rejects <file>", "file for all rejections, a line of JSON { line, code, message } each")
  .option("--url <address>", URL_HELP)
  .addHelpText(
    "after",
    `
The API key (scope metric:write) is read from ENTITY_METRICS_KEY.

CSV columns: ts, time or timestamp; value; dimension, dimension_id, dimension_type unless options set them.
Times: ${fileInstantForms}.
Exit codes: 0 everything was written; 1 failed; 2 wrong usage; 3 something was rejected, the rest was written; 130 interrupted.`,
  );

await runCommand(command, () => ingest(command.args, command.opts<Options>()));

async function ingest(files: readonly string[], options: Options): Promise<number> {
  return sendFiles(files, options, async (sending) => {
    const numbers = new SeriesNumbers(options.aggregation);
    const aggregator = new SlotAggregator(numbers.aggregations);
    try {
      const points = await readFiles({ files, options, now: systemClock(), numbers, aggregator }, sending);
      if (points + sending.rejections.count === 0) throw new StartError(`${files.join(", ")} contains no point`);
      const slots = batches(aggregator.slots(), numbers.series, sending.rejections);
      const sent = await sendBatches(slots, aggregator.count, sending);
      return `${counted(points, "point")} read, ${counted(sent, "slot")} of ${numbers.series.length} series written`;
    } finally {
      aggregator.close();
    }
  });
}
