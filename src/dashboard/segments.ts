import { nameOf } from "./address.js";
import { chart } from "./chart.js";
import { card, el } from "./dom.js";
import { fetchSeries, take } from "./fetch-series.js";
import { firstSteps } from "./first-steps.js";
import { largest, segmentTable, sizeOf } from "./lists.js";
import type { Asked, Shown } from "./view.js";

/** How large now, since when? One of them: its trend, and the experiences that use it. */
export async function load(asked: Asked): Promise<Shown> {
  const { client, address, now, signal } = asked;
  const found = await largest(asked);
  if (found.length === 0) return { content: [firstSteps()], empty: true, nextAt: now + 30_000 };
  const wanted = found.map(sizeOf);
  const series = await fetchSeries(client, wanted, address, now, signal);
  const chosen = found.filter((segment) => address.series.includes(nameOf(sizeOf(segment))));
  const drawn = chosen.length > 0 ? chosen : found.slice(0, 5);
  const names = new Set(drawn.map((segment) => nameOf(sizeOf(segment))));
  return {
    content: [
      card(
        chosen.length > 0 ? chosen.map(({ name }) => name).join(", ") : "The largest segments",
        chart(
          "Members",
          series.drawn.filter(({ name }) => names.has(name)),
          series.refused,
        ),
        ...(await uses(
          asked,
          chosen.map(({ id }) => id),
        )),
      ),
      card("All segments", segmentTable(asked, found, series)),
    ],
    nextAt: series.nextSaveAt ?? now + 60_000,
  };
}

async function uses({ client, signal }: Asked, ids: readonly string[]): Promise<HTMLElement[]> {
  if (ids.length === 0) return [];
  const all = await take(client.experiences({ limit: 1_000 }, { signal }), 1_000);
  const using = all.filter(({ audience, goal }) => ids.includes(audience) || ids.includes(goal));
  if (using.length === 0) return [el("p", { class: "note" }, "No experience uses it.")];
  const words = using.map(({ name, audience }) => `${name} (${ids.includes(audience) ? "audience" : "goal"})`);
  return [el("p", {}, `Used by ${words.join(", ")}.`)];
}
