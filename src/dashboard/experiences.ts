import { nameOf } from "./address.js";
import { chart } from "./chart.js";
import { card, el, table } from "./dom.js";
import { fetchSeries, take } from "./fetch-series.js";
import { drawnOf, linkTo, MOST, rateOf, trend } from "./lists.js";
import type { Asked, Shown } from "./view.js";

/** Who could be reached, who was, which share; by group. */
export async function load(asked: Asked): Promise<Shown> {
  const { client, address, now, signal } = asked;
  const found = await take(client.experiences({ limit: MOST }, { signal }), MOST);
  if (found.length === 0) return { content: [none()], empty: true, nextAt: now + 60_000 };
  const chosen = found.filter((one) => address.series.some((name) => name.startsWith(`experience.${one.id}.`)));
  const drawn = chosen.length > 0 ? chosen : found.slice(0, 5);
  const types = chosen.length > 0 ? ["conversionrate", "potentialreach", "actualreach"] : ["conversionrate"];
  const groups = [...new Set(found.flatMap(({ group }) => group ?? []))];
  const series = await fetchSeries(
    client,
    [
      ...found.map((one) => rateOf(one)),
      ...drawn.flatMap((one) =>
        types.slice(1).map((type) => ({ ...rateOf(one, type), label: `${one.name}, ${words[type]}` })),
      ),
      ...groups.map((id) => ({
        dimension: "experiencegroup",
        dimension_id: id,
        dimension_type: "conversionrate",
        label: id,
      })),
    ],
    address,
    now,
    signal,
  );
  const of = (type: string) => {
    const names = new Set(drawn.map((one) => nameOf(rateOf(one, type))));
    return series.drawn.filter(({ name }) => names.has(name));
  };
  const rows = found.map((one) => {
    const name = nameOf(rateOf(one));
    const link = linkTo(asked, "experiences", name, one.name);
    return [link, `${one.audience} → ${one.goal}`, one.group ?? "–", ...trend(drawnOf(series, name))];
  });
  const groupRows = groups.map((id) => [id, ...trend(drawnOf(series, `experiencegroup.${id}.conversionrate`))]);
  return {
    content: [
      card("Conversion", chart("Conversion", of("conversionrate"), series.refused)),
      ...(chosen.length > 0 ? [card("Reach", chart("Reach", [...of("potentialreach"), ...of("actualreach")]))] : []),
      card(
        "All experiences",
        table("Experiences", ["Experience", "Audience → goal", "Group", "Conversion", address.range, "Trend"], rows),
      ),
      ...(groups.length > 0
        ? [card("Groups", table("Groups", ["Group", "Conversion", address.range, "Trend"], groupRows))]
        : []),
    ],
    nextAt: series.nextSaveAt ?? now + 60_000,
  };
}

const words: Readonly<Record<string, string>> = { potentialreach: "could be reached", actualreach: "were reached" };

function none(): HTMLElement {
  return card(
    "No experience yet",
    el(
      "p",
      {},
      "An experience names two segments: who can be reached, and who did what it is for. A key with admin makes one:",
    ),
    el(
      "pre",
      { tabindex: 0 },
      `curl -X PUT ${new URL(".", location.href).href}api/experience/welcome -H "Authorization: $KEY" -H 'Content-Type: application/json' -d '{"audience":"newsletter","goal":"buyers"}'`,
    ),
  );
}
