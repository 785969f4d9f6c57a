import type { VNode } from "preact";
import type { Series, WantedSeries } from "../fetch-series.js";
import { Later } from "../page/later.js";
import { Popover } from "../page/popover.js";
import type { Page } from "../view.js";

const buttons = async () => (await import("./share-buttons.js")).ShareButtons;

interface ShareProps {
  readonly series: readonly Series[];
  readonly wanted: readonly WantedSeries[];
  readonly page: Page;
  /** Draws the chart as an image. */
  readonly png?: () => Promise<Blob | null>;
}

/** A button with all copies and downloads of a page, or of one chart. */
export function Share(props: ShareProps): VNode {
  return (
    <Popover
      shortcut="s"
      label={
        <>
          Share <span aria-hidden="true">▾</span>
        </>
      }
    >
      {() => (
        <section class="card panel share" aria-label="Share">
          <Later script={buttons} props={props} />
        </section>
      )}
    </Popover>
  );
}
