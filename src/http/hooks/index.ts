import { type Static, Type } from "@sinclair/typebox";
import { success, TimeOrNull } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

export const HookStatus = Type.Object(
  {
    name: Type.String(),
    segments: Type.Array(Type.String(), { description: "Ids of segments; `*` is all." }),
    waiting: Type.Integer({ description: "Changes that it has not taken." }),
    lag_seconds: Type.Number({ description: "Age of the oldest of them; 0 without one." }),
    last_answer_at: TimeOrNull("When it last took a request; null before the first."),
    problem: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description: "Failure of the last request, such as `crm answered 500`; null after one that was taken.",
    }),
  },
  { title: "HookStatus", additionalProperties: false },
);

/** Lists the systems that are notified of who joined and left segments. */
export function hookRoutes({ read }: { read(): Promise<Static<typeof HookStatus>[]> }): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/hook",
      scopes: ["metric:read"],
      docs: {
        id: "listHooks",
        tag: "operations",
        summary: "List hooks",
        description:
          "Use it to see whether the systems of the setting `hooks` take their events: in the order of the setting, without addresses and tokens.",
      },
      responses: { 200: success("HooksAnswer", Type.Array(HookStatus)) },
      handler: async () => ({ data: await read() }),
    }),
  ];
}
