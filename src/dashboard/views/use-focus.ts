import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Returns the ref of an element that gets the focus when it is first drawn, unless it is not wanted. */
export function useFocus<E extends HTMLElement>(isWanted = true): RefObject<E | null> {
  const element = useRef<E>(null);
  useLayoutEffect(() => {
    if (isWanted) element.current?.focus();
  }, []);
  return element;
}
