import type { Json } from "../../entities/profile/entity-document.js";
import { STREAM_NAME_LENGTH } from "../../reserved-names.js";
import { hasAtMost } from "../../text.js";
import type { Call } from "./calls.js";

/** Returns the name of the event of a call as a part of `<stream>.<name>`; undefined without a usable event. */
export function eventNameOf({ type, body }: Call, stream: string): string | undefined {
  if (type === "page" || type === "screen") return nameIn(type, stream);
  return type === "track" ? nameIn(body.event, stream) : undefined;
}

function nameIn(event: Json | undefined, stream: string): string | undefined {
  const most = STREAM_NAME_LENGTH - `${stream}.`.length;
  if (typeof event !== "string" || event === "" || !hasAtMost(most, event)) return undefined;
  // Replaced first: a letter outside ASCII may have one of ASCII as its lower case.
  return event.replace(/[^A-Za-z0-9_.-]/gu, "_").toLowerCase();
}
