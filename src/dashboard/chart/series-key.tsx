import type { VNode } from "preact";
import type { SeriesColour } from "../colours.js";

/** The mark of a series in its colour. */
export function SeriesKey({ colour }: { readonly colour: SeriesColour | undefined }): VNode | null {
  if (colour === undefined) return null;
  return <i class="key" style={{ "--colour": colour }} aria-hidden="true" />;
}
