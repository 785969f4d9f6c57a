import { useEffect, useLayoutEffect, useState } from "preact/hooks";

/** Returns the width of an element in px, and a number that changes when it must be drawn again. */
export function useDrawingPlace(place: { readonly current: HTMLElement | null }): { width: number; drawing: number } {
  const [width, setWidth] = useState(0);
  const [schemes, setSchemes] = useState(0);
  useLayoutEffect(() => setWidth(place.current?.clientWidth ?? 0), []);
  useEffect(() => {
    const sizes = new ResizeObserver(() => setWidth(place.current?.clientWidth ?? 0));
    if (place.current !== null) sizes.observe(place.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const again = () => setSchemes((count) => count + 1);
    scheme.addEventListener("change", again);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener("change", again);
    };
  }, []);
  return { width, drawing: schemes };
}
