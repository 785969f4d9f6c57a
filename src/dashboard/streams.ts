import type { Stream } from "../client/client.js";
import { nameOf } from "./address.js";
import { chart } from "./chart.js";
import { card, table } from "./dom.js";
import { type Fetched, fetchGroups, finished, take } from "./fetch-series.js";
import { firstSteps } from "./first-steps.js";
import { against, age, amount, fullTime, msOf } from "./format.js";
import { dayAndDayBefore, lastDays } from "./last-days.js";
import { drawnOf, linkTo, MOST, trend, volumeOf } from "./lists.js";
import type { Asked, Shown } from "./view.js";

/** Does data arrive, when last, how much against the week before? The open hour too. */
export async function load(asked: Asked): Promise<Shown> {
  const { client, address, now, signal } = asked;
  const found = await take(client.streams({ limit: MOST }, { signal }), MOST);
  if (found.length === 0) return { content: [firstSteps()], empty: true, nextAt: now + 30_000 };
  const chosen = found.filter((one) => address.series.includes(nameOf(volumeOf(one))));
  const drawn = chosen.length > 0 ? chosen : found.slice(0, 6);
  const wanted = found.map(volumeOf);
  const week = { ...address, range: "7d", interval: "1d", compare: true, smooth: false };
  // A stream that only has points took no messages: what is saved counts then.
  const uncounted = found.filter(({ day }) => day === 0).map(volumeOf);
  const groups = [
    { wanted, address },
    { wanted, address: week },
    { wanted: uncounted, address: lastDays(address) },
  ];
  const [series, weeks, hours] = (await fetchGroups(client, groups, now, signal)) as [Fetched, Fetched, Fetched];
  const dayOf = (stream: Stream) => {
    const own = hours.drawn.filter(({ name }) => name === nameOf(volumeOf(stream)));
    return stream.day || (dayAndDayBefore(own, now)?.[0] ?? 0);
  };
  const names = new Set(drawn.map((one) => nameOf(volumeOf(one))));
  const againstWeekBefore = (stream: Stream) => {
    const own = weeks.drawn.filter(({ name }) => name === nameOf(volumeOf(stream)));
    const current = own.find(({ earlier }) => !earlier);
    const until = current === undefined ? 0 : (finished(current).at(-1)?.ts ?? 0) + msOf("1d");
    const sum = (earlier: boolean) =>
      own
        .find((one) => one.earlier === earlier)
        ?.points.reduce((total, { ts, value }) => total + (ts < until ? value : 0), 0) ?? 0;
    return against(sum(false), sum(true));
  };
  const rows = found.map((one) => {
    const [, , line] = trend(drawnOf(series, nameOf(volumeOf(one))));
    const arrived = Date.parse(one.last_message_at);
    return [
      linkTo(asked, "streams", nameOf(volumeOf(one)), one.stream),
      `${age(now - arrived)} ago, ${fullTime(arrived)}`,
      amount(one.slot.count, "messages"),
      amount(dayOf(one), "messages"),
      againstWeekBefore(one),
      line,
    ];
  });
  const heads = ["Stream", "Last message", "This hour so far", "Last 24 h", "Against the week before", "Trend"];
  return {
    content: [
      card(
        chosen.length > 0 ? chosen.map(({ stream }) => stream).join(", ") : "Messages by stream",
        chart(
          "Messages",
          series.drawn.filter(({ name }) => names.has(name)),
          series.refused,
        ),
      ),
      card("All streams", table("Streams", heads, rows)),
    ],
    nextAt: now + 30_000,
  };
}
