import { expect } from "chai";
import type { ListOrders } from "../../src/catalogue/list-orders.js";

/** Promises of orders of lists, in memory and on every engine. `another` opens the same stores in another process. */
export function listOrdersContract(
  name: string,
  open: () => Promise<{ orders: ListOrders; close(): Promise<void> }>,
  another?: () => Promise<ListOrders>,
): void {
  describe(`the store of list orders of ${name}`, () => {
    let orders: ListOrders;
    let close: () => Promise<void>;
    beforeEach(async () => {
      const opened = await open();
      orders = opened.orders;
      close = () => opened.close();
    });
    afterEach(() => close());

    const names = ["b", "a", "ü 🙂", "$x.y", 'c"', ""];

    it("finds an order by the name that it was stored under", async () => {
      const name = await orders.keep(names);
      expect(name).to.match(/^[A-Za-z0-9_-]{22}$/);
      expect(await orders.find(name)).to.deep.equal(names);
      expect(await orders.find(await orders.keep([]))).to.deep.equal([]);
      expect(await orders.find("x".repeat(22))).to.equal(undefined);
    });

    it("assigns the same name to equal orders, and different names to different ones", async () => {
      const name = await orders.keep(names);
      expect(await orders.keep([...names])).to.equal(name);
      expect(await orders.keep(names.toReversed())).not.to.equal(name);
      expect(await orders.keep(["a", "b"])).not.to.equal(await orders.keep(["ab"]));
    });

    it("stores 10,000 of the longest ids", async () => {
      const long = Array.from({ length: 10_000 }, (_, i) => `${"🙂".repeat(251)}${String(i).padStart(5, "0")}`);
      expect(await orders.find(await orders.keep(long))).to.deep.equal(long);
    });

    if (another !== undefined) {
      it("finds an order of another process over the same stores", async () => {
        const other = await another();
        const ids = [...names, "of this test alone"];
        const name = await orders.keep(ids);
        expect(await other.find(name)).to.deep.equal(ids);
        expect(await other.keep(ids)).to.equal(name);
      });
    }
  });
}
