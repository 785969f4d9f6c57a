import { type Static, Type } from "@sinclair/typebox";
import { oneOf } from "../responses.js";

export const Health = Type.Object({ alive: Type.Boolean({ const: true }) }, { title: "Health" });

export type StoreState = Static<typeof StoreState>;

const StoreState = Type.Object(
  {
    name: Type.String(),
    required: Type.Boolean({ description: "Whether the service is of no use without it." }),
    state: oneOf(["up", "degraded", "down"]),
    note: Type.Optional(Type.String({ description: "What is not as it should be." })),
  },
  { title: "StoreState" },
);

export const Readiness = Type.Object(
  {
    ready: Type.Boolean({ description: "Whether every store that the service cannot work without is there." }),
    degraded: Type.Boolean({ description: "Whether something is not as it should be." }),
    stores: Type.Array(StoreState),
  },
  { title: "Readiness" },
);
