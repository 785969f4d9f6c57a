import { createHash } from "node:crypto";
import type { SharedOrders } from "./ports.js";

/** Orders of lists that were sorted by changing values, for their later pages. */
export interface ListOrders {
  /**
   * Stores the ids in this order for 10 minutes, and resolves with the order's name; equal orders have the same name.
   */
  keep(ids: readonly string[]): Promise<string>;
  /** Returns the ids of an order; undefined if it is not stored or has expired. */
  find(name: string): Promise<readonly string[] | undefined>;
}

/** Maximum memory of orders, bytes: the oldest are evicted. */
const MEMORY_BYTES = 16 * 1024 * 1024;

/** Approximate memory of an id besides its characters, bytes. */
const ID_BYTES = 50;

/** Age after which an order is stored again, ms; each `put` makes it available for 10 minutes. */
const PUT_AGAIN_MS = 60_000;

interface Order {
  readonly ids: readonly string[];
  readonly bytes: number;
  /** Time of storage by this process, ms of `performance.now`. */
  readonly putAt: number;
}

/** Orders in memory and, if other processes serve the same lists, in a shared store. */
export function listOrders(shared?: SharedOrders): ListOrders {
  const orders = new Map<string, Order>();
  let bytes = 0;

  function remember(name: string, ids: readonly string[], putAt: number): void {
    bytes -= orders.get(name)?.bytes ?? 0;
    orders.delete(name);
    const own = ids.reduce((sum, id) => sum + 2 * id.length + ID_BYTES, ID_BYTES);
    orders.set(name, { ids, bytes: own, putAt });
    bytes += own;
    for (const [oldest, order] of orders) {
      if (bytes <= MEMORY_BYTES || oldest === name) return;
      orders.delete(oldest);
      bytes -= order.bytes;
    }
  }

  return {
    async keep(ids) {
      // Ids contain no control character, so NUL separates.
      const name = createHash("sha256").update(ids.join("\0")).digest("base64url").slice(0, 22);
      const now = performance.now();
      const known = orders.get(name);
      if (known !== undefined && now - known.putAt < PUT_AGAIN_MS) return name;
      await shared?.put(name, ids);
      remember(name, ids, now);
      return name;
    },

    async find(name) {
      const known = orders.get(name)?.ids;
      if (known !== undefined || shared === undefined) return known;
      const ids = await shared.find(name);
      if (ids !== undefined) remember(name, ids, Number.NEGATIVE_INFINITY);
      return ids;
    },
  };
}
