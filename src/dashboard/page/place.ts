/** Entry of the history for one state of the page, besides its address. */
export interface Place {
  readonly cursors: readonly string[];
  /** Scroll position, px; absent until the state is left. */
  readonly top?: number;
  /** The link that was followed. */
  readonly href?: string | null | undefined;
  /** Cursors of the page of members, if the state was left for one of their profiles. */
  readonly members?: readonly string[];
}

/** Maximum wait for the parts of a view after the return to it, ms. */
const RETURN_MS = 3_000;

/** Stores the page of a list and the place on it in the history, for the way back. */
export function keepPlace(cursors: readonly string[]): void {
  const href = document.activeElement?.getAttribute("href");
  history.replaceState({ ...history.state, cursors, top: scrollY, href } satisfies Place, "");
}

/** Stores the page of members that is left for a profile. */
export function keepMembers(members: readonly string[]): void {
  history.replaceState({ ...history.state, members } satisfies Place, "");
}

/** Returns the page of members that was left; undefined in any other entry of the history. */
export const keptMembers = (): readonly string[] | undefined => (history.state as Place | null)?.members;

/** Shows the start of another view. Its content gets the focus if the focused element left with the old view. */
export function startAtTop(): void {
  scrollTo(0, 0);
  if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
}

/** Returns to a place of a view that is drawn. Parts of the view can arrive later, and make it high enough. */
export function returnTo({ top = 0, href }: Place): void {
  if (href) document.querySelector<HTMLElement>(`main a[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true });
  const sizes = new ResizeObserver(() => {
    scrollTo(0, top);
    if (Math.abs(scrollY - top) < 1) sizes.disconnect();
  });
  sizes.observe(document.body);
  setTimeout(() => sizes.disconnect(), RETURN_MS);
}
