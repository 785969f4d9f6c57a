import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Stream } from "../../client/client.js";
import { clockTime, count } from "../format.js";
import { findEntry } from "../list/entries.js";
import { Card } from "../page/card.js";
import type { Page } from "../view.js";
import { usePoll } from "./use-poll.js";

const POLL_MS = 2_000;
const SHOWN = 12;

interface Count {
  readonly at: number;
  readonly slot: string;
  readonly count: number;
}

/** Messages of the open hour as they grow: a poll every 2 s while the tab is visible. */
export function LiveTail({ stream, page }: { readonly stream: Stream; readonly page: Page }): VNode {
  const [counts, setCounts] = useState<readonly Count[]>([]);
  const name = stream.stream;
  usePoll({
    key: name,
    firstMs: POLL_MS,
    everyMs: POLL_MS,
    async poll(signal) {
      const found = await findEntry("stream", name, { ...page, signal });
      if (found !== undefined) setCounts((known) => [countOf(found), ...known].slice(0, SHOWN));
      return true;
    },
  });
  const newest = counts[0] ?? countOf(stream);
  return (
    <Card title="Live" note="messages in the open hour">
      <div class="live">
        <p class="value">
          <data value={newest.count}>{count(newest.count)}</data>
        </p>
        <ul class="tail" aria-label="Counts of the open hour">
          {counts.map((one, index) => {
            const before = counts[index + 1];
            const grown = before === undefined || before.slot !== one.slot ? 0 : one.count - before.count;
            return (
              <li key={one.at}>
                {clockTime(one.at, page.zone)} {count(one.count)}
                {grown > 0 && <b class="good"> +{count(grown)}</b>}
              </li>
            );
          })}
        </ul>
      </div>
    </Card>
  );
}

const countOf = ({ slot }: Stream): Count => ({ at: Date.now(), slot: slot.ts, count: slot.count });
