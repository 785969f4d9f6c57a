import { Type } from "@sinclair/typebox";
import { scopes } from "../../keys/api-key.js";
import { oneOf, success } from "../responses.js";
import { type Route, route } from "../route.js";

export const Key = Type.Object(
  {
    id: Type.String({ description: "`admin` for the key of the configuration." }),
    name: Type.String({ description: "What it was called when it was made." }),
    scopes: Type.Array(oneOf(scopes), { description: "What it opens, sorted." }),
  },
  { title: "Key", description: "The API key that the request was made with.", additionalProperties: false },
);

const keyAnswer = success("KeyAnswer", Key);

/** What a key is, to its holder. */
export function keyRoutes(): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/key",
      scopes,
      docs: {
        id: "readKey",
        tag: "operations",
        summary: "The key that asks",
        description: "Any key is let in. It is the cheapest way to find out whether a key is valid, and what it opens.",
      },
      responses: { 200: keyAnswer },
      handler: ({ ctx: { state } }) => ({
        data: { id: state.keyId, name: state.keyName, scopes: [...state.scopes].sort() },
      }),
    }),
  ];
}
