import type { VNode } from "preact";

/** A command to copy. It scrolls by itself, so that the page never scrolls sideways. */
export function Code({ text }: { readonly text: string }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the focus to be scrolled by keys.
    <pre tabIndex={0}>{text}</pre>
  );
}
