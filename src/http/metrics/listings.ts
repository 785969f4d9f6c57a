import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { listStreams } from "../../metrics/list-streams.js";
import type { SlotCounts } from "../../metrics/ports.js";
import { fetchPage, listQuery, PageMeta, success } from "../responses.js";
import { type Route, route } from "../route.js";
import { Time, timeText } from "../time.js";

const Count = (description: string) => Type.Integer({ minimum: 0, description });

const Stream = Type.Object(
  {
    stream: Type.String(),
    last_message_at: Time("When the newest message arrived."),
    slot: Type.Object(
      {
        ts: Type.String({ description: "Start of the slot that is open, Unix ms." }),
        count: Count("Messages counted in it so far."),
      },
      { title: "OpenSlot", additionalProperties: false },
    ),
    day: Count("Messages of the last 24 slots that are over."),
  },
  { title: "Stream", additionalProperties: false },
);

export interface ListingParts {
  readonly counts: Pick<SlotCounts, "streams" | "counted">;
  readonly clock: Clock;
}

/** What there is to be read. */
export function listingRoutes({ counts, clock }: ListingParts): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/stream",
      scopes: ["metric:read"],
      docs: {
        id: "listStreams",
        tag: "metrics",
        summary: "Streams that took messages",
        description: "By name. What arrives is counted at once: in the slot of its event time.",
      },
      query: listQuery,
      responses: { 200: success("StreamsAnswer", Type.Array(Stream), { meta: PageMeta }) },
      async handler({ query }) {
        const now = clock();
        const { items, meta } = await fetchPage(query, async (after, limit) => {
          const streams = await listStreams(counts, now, after, limit);
          return streams.map((one) => ({ ...one, id: one.stream }));
        });
        return {
          data: items.map(({ stream, lastArrival, slot, day }) => ({
            stream,
            last_message_at: timeText(lastArrival),
            slot: { ts: String(slot.ts), count: slot.count },
            day,
          })),
          meta,
        };
      },
    }),
  ];
}
