import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Address } from "../address.js";
import { csvOf } from "../csv.js";
import { isUnfinished, requestOf, type Series, type WantedSeries } from "../fetch-series.js";
import { Code } from "../page/code.js";
import { download } from "../page/download.js";
import { spanOf, windowOf } from "../time-window.js";
import type { Page } from "../view.js";

interface ShareButtonsProps {
  readonly series: readonly Series[];
  readonly wanted: readonly WantedSeries[];
  readonly page: Page;
  /** Draws the chart as an image. */
  readonly png?: () => Promise<Blob | null>;
}

/** Copies and downloads of one chart. */
export function ShareButtons({ series, wanted, page, png }: ShareButtonsProps): VNode {
  const [copied, setCopied] = useState<Copied>();
  // The clipboard does not exist on pages that another host serves over plain HTTP, and people may forbid it.
  const copy = async (text: string) => {
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    setCopied({ text, isCopied: isCopied ?? false });
  };
  const link = (change: Partial<Address> = {}) =>
    new URL(`dashboard${page.link(change)}`, new URL(".", location.href)).href;
  const fixed = spanOf(page);
  const savePng = async () => {
    const image = await png?.();
    if (image != null) download(`${fileName(series, fixed)}.png`, image);
  };
  const actions: readonly (readonly [string, () => unknown])[] = [
    ["Copy as link", () => copy(link())],
    [
      "Download CSV",
      () => download(`${fileName(series, fixed)}.csv`, new Blob([csvOfSeries(series)], { type: "text/csv" })),
    ],
    ...(png === undefined ? [] : [["Download PNG", savePng] as const]),
    ["Copy with fixed dates", () => copy(link(fixed))],
    ["Copy as CSV", () => copy(csvOfSeries(series))],
    ["Copy as curl", () => copy(curlOf(wanted, page))],
  ];
  return (
    <>
      <div class="controls">
        {actions.map(([label, act]) => (
          <button key={label} type="button" onClick={() => void act()}>
            {label}
          </button>
        ))}
        <span role="status" class="note">
          {copied && (copied.isCopied ? "Copied." : "Press Ctrl+C or ⌘C to copy.")}
        </span>
      </div>
      {copied?.isCopied === false && <Selected copied={copied} />}
    </>
  );
}

interface Copied {
  readonly text: string;
  readonly isCopied: boolean;
}

/** A text that is selected each time it was to be copied. */
function Selected({ copied }: { readonly copied: Copied }): VNode {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (place.current !== null) getSelection()?.selectAllChildren(place.current);
  }, [copied]);
  return (
    <div ref={place}>
      <Code text={copied.text} />
    </div>
  );
}

/** Name of a file of one chart: its unit, a series that is alone, and the days of its window. */
function fileName(series: readonly Series[], { from, to }: { readonly from: number; readonly to: number }): string {
  const [first] = series;
  const subject = series.length === 1 ? `${first?.unit}-${first?.label}` : `${first?.unit}-${series.length}-series`;
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return `${subject.replaceAll(/[^\p{L}\p{N}]+/gu, "-")}_${day(from)}_${day(to)}`;
}

/** One row for each value; `complete` is false for a bucket that can still change. */
function csvOfSeries(series: readonly Series[]): string {
  const rows = series.flatMap((one) =>
    one.values.flatMap((value, at) => {
      const ts = one.window.buckets[at] as number;
      return value === null ? [] : [[one.name, new Date(ts).toISOString(), value, !isUnfinished(one, at)]];
    }),
  );
  return csvOf([["series", "ts", "value", "complete"], ...rows]);
}

/** A command that requests the series. A window that ends now becomes a range, so that the command stays current. */
function curlOf(wanted: readonly WantedSeries[], page: Page): string {
  const { address } = page;
  const base = new URL(".", location.href).href;
  const requests = wanted.map((one) => {
    const { startdate, enddate, ...request } = requestOf(one, windowOf(page, one.dimension), address);
    return address.from === undefined ? { ...request, range: address.range } : { ...request, startdate, enddate };
  });
  const body = JSON.stringify(requests).replaceAll("'", "'\\''");
  return `curl ${base}api/metric -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '${body}'`;
}
