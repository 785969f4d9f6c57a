import type { ComponentChildren, VNode } from "preact";

interface ScrollProps {
  readonly label: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A part that scrolls by itself, by keys too, so that the page never scrolls sideways. */
export function Scroll({ label, class: extra, children }: ScrollProps): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the focus to be scrolled by keys.
    <section class={extra === undefined ? "scroll" : `scroll ${extra}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
