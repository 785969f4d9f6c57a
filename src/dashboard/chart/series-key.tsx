import type { VNode } from "preact";
import { colourOf } from "../colours.js";

/** The mark of a series in its colour. */
export function SeriesKey({ name }: { readonly name: string }): VNode {
  const { hue, shade } = colourOf(name);
  return <i class={`key ${shade}`} style={{ "--hue": String(hue) }} aria-hidden="true" />;
}
