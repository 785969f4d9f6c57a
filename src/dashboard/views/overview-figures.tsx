import type { ComponentChildren, VNode } from "preact";
import type { ListedSegment, ListPage } from "../../client/client.js";
import type { Address } from "../address.js";
import { hasMoved } from "../figures.js";
import { count, relative } from "../format.js";
import { valueIn } from "../list/value.js";
import type { Optional } from "../optional.js";
import { valueStyle } from "../page/head.js";
import { Link } from "../page/link.js";
import type { ServiceMetrics } from "../service-metrics.js";
import type { Page } from "../view.js";
import type { DayTotals } from "./messages-by-stream.js";

interface FiguresProps {
  readonly service: ServiceMetrics;
  readonly segments: Optional<ListPage<ListedSegment>>;
  /** Number of segments that only have points. */
  readonly segmentsOfPoints: number;
  /** Numbers of streams that received messages, and of silent ones; undefined if the key may not see these. */
  readonly streams: number;
  readonly silent: number | undefined;
  readonly days: DayTotals | undefined;
  readonly page: Page;
}

/** The figures of the service, each with a link to the view that shows more. */
export function Figures(props: FiguresProps): VNode {
  const { service, segments, segmentsOfPoints, streams, silent, days, page } = props;
  const open = service.value("deletions_open") ?? 0;
  const stuck = service.value("deletions_stuck") ?? 0;
  const wrong = service.stores.filter(({ state }) => state !== "up");
  const [first] = segments.value?.data ?? [];
  const byWeek = days?.compared && relative(days.compared.now, days.compared.before);
  return (
    <div class="figures">
      <Figure name="messages" title="Messages, last 24 h" to={{ view: "streams" }} value={days?.day} page={page}>
        {byWeek === undefined ? "saved when each hour ends" : `${byWeek} in a week`}
      </Figure>
      <Figure
        name="silent"
        title="Silent streams"
        to={{ view: "streams", sort: "-silence" }}
        value={silent}
        isGood={silent === 0}
        page={page}
      >
        of {count(streams)} {streams === 1 ? "stream" : "streams"}
      </Figure>
      <Figure name="segments" title="Segments" to={{ view: "segments" }} value={segments.value?.meta.total} page={page}>
        {segments.refusal}
        {segmentsOfPoints > 0 && `and ${count(segmentsOfPoints)} with points only`}
        {first !== undefined && hasMoved(first) && (
          <span class="cut" title={first.name}>
            changed most: <bdi>{first.name}</bdi>
          </span>
        )}
      </Figure>
      <Figure
        name="deletions"
        title="Open deletions"
        to={{ view: "deletions" }}
        value={open}
        isGood={stuck === 0}
        page={page}
      >
        {stuck === 0 ? "none stuck" : `${count(stuck)} stuck ▲`}
      </Figure>
      <Figure
        name="stores"
        title="Stores"
        to={{ view: "health" }}
        value={wrong.length === 0 ? "up" : "degraded"}
        text={wrong.length === 0 ? "all up" : wrong.map(({ name, state }) => `${name} ${state}`).join(", ")}
        isGood={wrong.length === 0}
        page={page}
      >
        {service.stores.map(({ name }) => name).join(", ")}
      </Figure>
    </div>
  );
}

interface FigureProps {
  readonly name: "messages" | "silent" | "segments" | "deletions" | "stores";
  readonly title: string;
  /** The view that shows more. */
  readonly to: Partial<Address>;
  /** Undefined while it is not known. */
  readonly value: number | string | undefined;
  /** Default: the value as a number. */
  readonly text?: string;
  readonly isGood?: boolean;
  readonly page: Page;
  readonly children: ComponentChildren;
}

/** One figure, whose whole tile is a link to the view that shows more. */
function Figure({ name, title, to, value, text, isGood, page, children }: FigureProps): VNode {
  return (
    <section class="card figure" data-figure={name}>
      <h2>{title}</h2>
      <p class={valueStyle({ isGood })}>
        {typeof value === "string" ? <data value={value}>{text}</data> : valueIn(value, "messages")}
      </p>
      <p class="note">{children}</p>
      <Link to={to} page={page}>
        <span class="hidden">{title}: show more</span>
      </Link>
    </section>
  );
}
