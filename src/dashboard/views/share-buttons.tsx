import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { isUnfinished, type Series, type WantedSeries } from "../fetch-series.js";
import { download } from "../page/download.js";
import type { Page } from "../view.js";
import { curlOf } from "./api-call.js";

interface ShareButtonsProps {
  readonly series: readonly Series[];
  readonly wanted: readonly WantedSeries[];
  readonly page: Page;
  readonly png: () => Promise<Blob | null>;
}

/** Copies and downloads of one chart. */
export function ShareButtons({ series, wanted, page, png }: ShareButtonsProps): VNode {
  const [note, setNote] = useState("");
  const copy = (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => setNote("Copied."),
      () => setNote("This browser does not let pages copy."),
    );
  const link = () => new URL(`dashboard${page.link({})}`, new URL(".", location.href)).href;
  const savePng = async () => {
    const image = await png();
    if (image !== null) download("chart.png", image);
  };
  const actions: readonly (readonly [string, () => unknown])[] = [
    ["Copy as link", () => copy(link())],
    ["Copy as curl", () => copy(curlOf(wanted, page))],
    ["Copy as CSV", () => copy(csvOf(series))],
    ["Download CSV", () => download("series.csv", new Blob([csvOf(series)], { type: "text/csv" }))],
    ["Download PNG", savePng],
  ];
  return (
    <div class="controls">
      {actions.map(([label, act]) => (
        <button key={label} type="button" onClick={() => void act()}>
          {label}
        </button>
      ))}
      <span role="status" class="note">
        {note}
      </span>
    </div>
  );
}

/** One row for each value (RFC 4180); `complete` is false for a bucket that can still change. */
function csvOf(series: readonly Series[]): string {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const rows = series.flatMap((one) =>
    one.values.flatMap((value, at) => {
      const ts = one.window.buckets[at] as number;
      return value === null
        ? []
        : [[quoted(one.name), new Date(ts).toISOString(), value, !isUnfinished(one, ts)].join(",")];
    }),
  );
  return `${["series,ts,value,complete", ...rows].join("\r\n")}\r\n`;
}
