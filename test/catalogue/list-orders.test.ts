import { expect } from "chai";
import { listOrders } from "../../src/catalogue/list-orders.js";
import { listOrdersContract } from "../contracts/list-orders.contract.js";

listOrdersContract("in memory", async () => ({ orders: listOrders(), close: async () => {} }));

describe("the orders of lists in memory", () => {
  it("are removed, oldest first, if there is no room for all of them", async () => {
    const orders = listOrders();
    const of = (n: number) => Array.from({ length: 10_000 }, (_, i) => `${n} ${"x".repeat(240)}${i}`);
    const first = await orders.keep(of(0));
    const names: string[] = [];
    for (let n = 1; n <= 4; n += 1) names.push(await orders.keep(of(n)));
    expect(await orders.find(first)).to.equal(undefined);
    expect(await orders.find(names.at(-1) as string)).to.deep.equal(of(4));
  });
});
