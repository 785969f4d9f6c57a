import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ExportLine } from "../../client/client.js";
import { count, fullTime } from "../format.js";
import { Card } from "../page/card.js";
import { Code } from "../page/code.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import type { TypedIdentity } from "./identity-form.js";
import { useTask } from "./use-task.js";

type Message = Extract<ExportLine, { type: "message" }>;

/** The page shows the newest messages; the download contains all. */
const SHOWN = 100;

/** All stored messages of a person, the newest first, and the export as a file. */
export function Timeline({ identity, page }: { readonly identity: TypedIdentity; readonly page: Page }): VNode {
  const [lines, setLines] = useState<readonly ExportLine[]>();
  const { run, problem } = useTask();
  useEffect(() => {
    run(async (signal) => {
      const read: ExportLine[] = [];
      const { table, field, value } = identity;
      for await (const line of page.client.exportEntity(table, field, value, { signal })) read.push(line);
      setLines(read);
    });
  }, [identity]);
  const messages = (lines ?? []).filter((line): line is Message => line.type === "message");
  const save = () => {
    const text = (lines ?? []).map((line) => `${JSON.stringify(line)}\n`).join("");
    download("export.ndjson", new Blob([text], { type: "application/x-ndjson" }));
  };
  return (
    <Card title="Messages">
      {problem !== undefined && <p role="alert">{problem}</p>}
      <p class="controls">
        {lines === undefined ? "Loading …" : `${count(messages.length)} stored`}
        <button type="button" disabled={lines === undefined} onClick={save}>
          Download NDJSON
        </button>
      </p>
      {messages
        .slice(-SHOWN)
        .reverse()
        .map(({ stream, event_time, received_at, body }, index) => (
          <details key={`${received_at} ${index}`}>
            <summary>
              {fullTime(Date.parse(event_time), page.zone)}, {stream}{" "}
              <span class="note">received {fullTime(Date.parse(received_at), page.zone)}</span>
            </summary>
            <Code text={JSON.stringify(body, null, 2)} />
          </details>
        ))}
      {messages.length > SHOWN && <p class="note">The newest {SHOWN} are shown; the download contains all.</p>}
    </Card>
  );
}
