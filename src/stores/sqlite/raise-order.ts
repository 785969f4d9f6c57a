import type { Clock } from "../../clock.js";
import { orderClock, type RaiseOrder } from "../../metrics/ports.js";
import type { Database } from "./connection.js";
import { raiseTo, storedValue } from "./database-facts.js";

/** The orders of writes, as facts of a file. They are used if the series are in a store of another engine. */
export function sqliteRaiseOrder(db: Database, clock: Clock): RaiseOrder {
  const { sinceMs, untilMs, unitMs } = orderClock;
  const raise = raiseTo(db);
  return async (of) => {
    const name = `order of ${of}`;
    const byClock = Math.floor((Math.min(clock(), untilMs) - sinceMs) / unitMs);
    const order = Math.max(((storedValue(db, name) ?? 0) as number) + 1, byClock);
    raise(name, order);
    return order;
  };
}
