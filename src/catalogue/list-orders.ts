import { createHash } from "node:crypto";
import type { SharedOrders } from "./ports.js";

/** Orders in which lists were sorted by values that change, for their later pages. */
export interface ListOrders {
  /** Stores the ids in this order for 10 minutes, and resolves with the order's name; equal orders have the same name. */
  keep(ids: readonly string[]): Promise<string>;
  /** The ids of an order; undefined when it is not stored, or no longer. */
  find(name: string): Promise<readonly string[] | undefined>;
}

/** Memory for orders, bytes: the oldest are removed for lack of room. */
const MEMORY_BYTES = 16 * 1024 * 1024;

/** What an id takes besides its characters, roughly, bytes. */
const ID_BYTES = 50;

/** An order is put again when it was last put this long ago, ms: it is found for 10 minutes after that. */
const PUT_AGAIN_MS = 60_000;

interface Order {
  readonly ids: readonly string[];
  readonly bytes: number;
  /** When this process put it, ms of `performance.now`. */
  readonly putAt: number;
}

/** Orders in memory and, where other processes serve the same lists, in a store that they share. */
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
      const name = createHash("sha256").update(JSON.stringify(ids)).digest("base64url").slice(0, 22);
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
