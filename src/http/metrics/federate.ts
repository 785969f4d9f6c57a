import { Type } from "@sinclair/typebox";
import { yieldWhenDue } from "../../async/yielding.js";
import type { Clock } from "../../clock.js";
import { invalid } from "../../errors.js";
import { type LabelMatcher, parseSelector, SelectorError } from "../../formats/series-selector.js";
import { done, errorEnvelope } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import type { Selectors } from "./exposed-metrics.js";
import { type ExposedSeriesDependencies, exposedSeries, MAX_EXPOSED } from "./exposed-series.js";

export interface FederateDependencies extends ExposedSeriesDependencies {
  readonly clock: Clock;
}

/** Route that Prometheus scrapes. */
export function federateRoutes({ clock, ...dependencies }: FederateDependencies): readonly Route[] {
  const textOf = exposedSeries(dependencies);

  return [
    route({
      method: "GET",
      path: "/federate",
      scopes: ["metric:read"],
      docs: {
        id: "federateSeries",
        tag: "metrics",
        summary: "Read current values for Prometheus",
        description: `Use it as a scrape target: returns every series that one of the selectors selects and that has a value in the newest slot that is due, without timestamps, and \`entity_metrics_slot_timestamp_seconds\` with the start of that slot for each dimension. A key that is bound to a stream sees only that stream. Errors 400: \`required\`, \`invalid_selector\`; 422: \`too_many_series\` above ${MAX_EXPOSED} series.`,
        requiredQuery: ["match[]"],
      },
      query: {
        "match[]": Type.Optional(
          Type.Array(Type.String(), {
            description:
              'Series selector of Prometheus, such as `entity_metrics_segment_size` or `{name=~"Beta.*"}`; may be repeated. Regular expressions have the syntax of RE2 and match the whole value.',
            examples: [['{__name__=~"entity_metrics_.+"}']],
          }),
        ),
      },
      responses: {
        200: done({ "text/plain": Type.String({ description: "Prometheus text format 0.0.4." }) }),
        422: errorEnvelope,
      },
      async handler({ ctx, query: { "match[]": texts = [] } }) {
        if (texts.length === 0) throw invalid("required", "match[]", "match[] is required");
        const { bounds, memory } = ctx.state;
        const selectors: Selectors[number][] = [];
        for (const text of texts) {
          selectors.push(readSelector(text, selectors.length));
          await yieldWhenDue();
        }
        const text = await textOf(selectors, bounds.stream, clock(), memory);
        ctx.set({ "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" });
        ctx.body = text;
      },
    }),
  ];
}

function readSelector(text: string, index: number): readonly LabelMatcher[] {
  try {
    return parseSelector(text);
  } catch (error) {
    if (error instanceof SelectorError)
      throw invalid("invalid_selector", "match[]", `Selector ${index + 1} ${error.message}`);
    throw error;
  }
}
