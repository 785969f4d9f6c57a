import { isIP } from "node:net";
import { Type } from "@sinclair/typebox";
import { ServiceError } from "../../errors.js";
import type { SignInCodes } from "../../keys/sign-in-codes.js";
import { success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

/** Route with which the dashboard exchanges the code of its link for a key. */
export function signInRoutes(codes: Pick<SignInCodes, "redeem">): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/dashboard/sign-in/:code",
      scopes: "keyless",
      docs: {
        id: "signIn",
        tag: "operations",
        summary: "Exchange a sign-in code for a key",
        description:
          "The dashboard uses it when it is opened by the link that the first start prints. A code works once, for 15 minutes, from the machine that the service runs on. Error 404: `not_found` for any other code or caller.",
      },
      params: { code: Type.String({ minLength: 1, examples: ["0123456789abcdef0123456789abcdef"] }) },
      responses: { 200: success("SignInAnswer", Type.Object({ key: Type.String() }, { title: "SignIn" })) },
      handler({ ctx, params: { code } }) {
        const key = isLoopback(ctx.req.socket.remoteAddress) ? codes.redeem(code) : undefined;
        if (key === undefined) throw new ServiceError("not-found", "Not Found");
        return { data: { key } };
      },
    }),
  ];
}

/** Returns whether a connection comes from this machine: 127.0.0.0/8, also mapped to IPv6, or ::1. */
function isLoopback(address = ""): boolean {
  const own = address.replace(/^::ffff:/, "");
  return own === "::1" || (isIP(own) === 4 && own.startsWith("127."));
}
