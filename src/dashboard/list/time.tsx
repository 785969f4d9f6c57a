import type { VNode } from "preact";
import { age } from "../duration.js";
import { type Newest, silenceOf } from "../figures.js";
import { fullTime, shortTime } from "../format.js";
import type { Page } from "../view.js";

interface TimeProps {
  /** RFC 3339. */
  readonly at: string;
  readonly page: Pick<Page, "now" | "zone">;
  /** Default: the short time. */
  readonly children?: string;
}

/** A short time, `06:29` or `28 Nov`, with the full one in its title. */
export function Time({ at, page, children }: TimeProps): VNode {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={fullTime(ms, page.zone)}>
      {children ?? shortTime(ms, page.now, page.zone)}
    </time>
  );
}

/** The age of the newest data of a stream: `5 min ago`, or `silent for 9 h`. */
export function NewestData({ stream, page }: { readonly stream: Newest; readonly page: TimeProps["page"] }): VNode {
  const { newest_at: at } = stream;
  const silence = silenceOf(stream, page.now);
  const text = silence ?? (at === null ? "–" : `${age(page.now - Date.parse(at))} ago`);
  return (
    <span class={silence === undefined ? undefined : "bad"}>
      {at === null ? (
        text
      ) : (
        <Time at={at} page={page}>
          {text}
        </Time>
      )}
    </span>
  );
}
