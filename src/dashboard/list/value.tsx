import type { VNode } from "preact";
import { amount, shortAmount, type Unit } from "../format.js";

/** A value that programs can read, in its short form; a dash where there is none. */
export function valueIn(value: number | null | undefined, unit: Unit): VNode | string {
  if (value == null) return "–";
  const [short, full] = [shortAmount(value, unit), amount(value, unit)];
  return (
    <data value={value} title={short === full ? undefined : full}>
      {short}
    </data>
  );
}
