import { ServiceError } from "../errors.js";
import type { ApiContext } from "./api-router.js";

/** The media type of the body, lower-case and without parameters; "" when none is named. Text that is not UTF-8 is refused. */
export function mediaType(ctx: ApiContext): string {
  const [type = "", ...parameters] = ctx.get("Content-Type").toLowerCase().split(";");
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=");
    if (name.trim() !== "charset") continue;
    const charset = value.trim().replaceAll('"', "");
    if (charset !== "utf-8" && charset !== "utf8")
      throw new ServiceError("unsupported-media", "The body must be UTF-8");
  }
  return type.trim();
}
