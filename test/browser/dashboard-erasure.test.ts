import { expect } from "chai";
import type { Locator, Page } from "playwright-core";
import { openKept, startKept } from "../support/kept-layout.js";
import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { state, unseen } from "./browser.js";
import { NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

interface Deletion {
  readonly request_id: string;
  readonly attempts: number;
  readonly completed_at: string | null;
}

describe("the dashboard's view of erasures", function () {
  this.timeout(60_000);
  let crm: RemoteSystem;
  const on = stage(async () => {
    crm = await remoteSystem();
    const targets = [{ name: "crm", url: crm.url, token: "secret" }];
    return startService({ deletions: { targets } }, { clock: () => NOW });
  });
  after(() => crm?.close());

  const ask = async (method: string, path: string) =>
    ((await (await on.service.fetch(path, { method })).json()) as { data: Deletion }).data;
  const deletion = (id: string) => ask("GET", `/api/deletion/${id}`);
  const tried = (id: string, times: number) =>
    until(`it was tried ${times} times`, async () => (await deletion(id)).attempts === times);
  const isDone = (id: string) =>
    until("the erasure is completed", async () => (await deletion(id)).completed_at !== null);

  /** An erasure that the other system has refused three times. The clock stands still, so that it is tried again on request alone. */
  async function stuckErasure(): Promise<string> {
    crm.trouble = "status";
    const { request_id } = await ask("DELETE", "/api/entity/user/email/ann@example.org");
    for (const times of [1, 2]) {
      await tried(request_id, times);
      await ask("POST", `/api/deletion/${request_id}/retry`);
    }
    await tried(request_id, 3);
    return request_id;
  }
  const rowOf = (page: Page, caption: string, id: string) =>
    page.getByRole("table", { name: caption }).getByRole("row", { name: id });
  const tryNow = (row: Locator) => row.getByRole("button", { name: "Try now" });

  it("says what a stuck erasure waits for and why; Try now tries it, and completes it once the other system answers", async () => {
    const id = await stuckErasure();
    const { page, errors } = await on.open("?view=erasure", { prepare: unseen });
    await state(page, "ready");
    const open = rowOf(page, "Open erasures", id);
    const text = await open.innerText();
    expect(text).to.include("crm answered 503").and.include("stuck").and.include("20 Nov 2026, 21:52 UTC");
    expect(await open.locator("td").nth(4).innerText()).to.equal("3");
    await tryNow(open).click();
    await tried(id, 4);
    await page.keyboard.press("r");
    await open.locator("td", { hasText: /^4$/ }).waitFor();
    crm.trouble = undefined;
    await tryNow(open).click();
    await isDone(id);
    await page.keyboard.press("r");
    await rowOf(page, "Completed erasures", id).waitFor();
    expect(await page.getByText("No erasure is open.").count()).to.equal(1);
    expect(errors).to.deep.equal([]);
  });

  it("Try now of an erasure that was completed since says so", async () => {
    const id = await stuckErasure();
    const { page } = await on.open("?view=erasure", { prepare: unseen });
    await state(page, "ready");
    const open = rowOf(page, "Open erasures", id);
    crm.trouble = undefined;
    await ask("POST", `/api/deletion/${id}/retry`);
    await isDone(id);
    await tryNow(open).click();
    await open.getByText("The deletion is completed").waitFor();
  });

  it("Overview and Health count it among the open erasures and the stuck ones", async () => {
    const sent = await on.service.fetch("/collect/json/web", { method: "POST", json: { email: "cy@example.org" } });
    expect(sent.status).to.equal(200);
    const id = await stuckErasure();
    const { page } = await on.open("?view=overview");
    await state(page, "ready");
    const card = page.locator("section.card", { has: page.getByRole("heading", { name: "Open erasures" }) });
    expect(await card.innerText()).to.match(/\n1\n\s*1 stuck/);
    await page.getByRole("link", { name: "Health" }).click();
    const counted = page.getByRole("table", { name: "This process" }).getByRole("row", { name: "Stuck erasures" });
    expect(await counted.locator("td").innerText()).to.equal("1");
    crm.trouble = undefined;
    await ask("POST", `/api/deletion/${id}/retry`);
    await isDone(id);
  });

  it("says that times were not kept where an earlier version completed an erasure", async () => {
    const { dir, ids } = openKept("embedded-5");
    const old = await startKept(dir);
    try {
      const { page } = await on.open("?view=erasure", {}, old);
      await state(page, "ready");
      await page.getByLabel("Request id").fill(ids.requestId);
      await page.keyboard.press("Enter");
      const place = page.getByRole("row", { name: "membership-index" });
      await place.waitFor();
      expect(await place.locator("td").allInnerTexts()).to.deep.equal(["not kept", "not kept"]);
      await page.context().close();
    } finally {
      await old.stop();
    }
  });

  it("an officer whose key has entity:delete alone erases, looks up and takes the receipt, by the keyboard alone", async () => {
    const stuck = await stuckErasure();
    const { key } = await on.newKey(["entity:delete"]);
    const { page, requests, errors } = await on.open("?view=erasure", { key });
    await state(page, "ready");
    expect(await page.locator("nav .lock").count()).to.equal(6);
    expect(await rowOf(page, "Open erasures", stuck).innerText()).to.include("crm answered 503");
    expect(await page.getByRole("button", { name: "Try now" }).count()).to.equal(0);
    crm.trouble = undefined;
    const press = (key: string) => page.keyboard.press(key);
    await tabTo(page.getByLabel("Field", { exact: true }));
    await press("Control+A");
    await page.keyboard.type("email");
    await tabTo(page.getByLabel("Identity"));
    await page.keyboard.type("bea@example.org");
    await tabTo(page.getByRole("button", { name: "Preview" }));
    await press("Enter");
    await page.getByText("A preview needs a key with entity:read too").waitFor();
    await tabTo(page.getByLabel(/^Type ERASE/));
    await page.keyboard.type("ERASE");
    await press("Tab");
    await press("Enter");
    const said = page.getByText(/^Accepted as/);
    await said.waitFor();
    const id = await said.locator("code").innerText();
    await isDone(id);
    await tabTo(page.getByLabel("Request id"));
    await page.keyboard.type(id);
    await press("Enter");
    const receipt = page.getByRole("status").getByRole("button", { name: "Receipt" });
    await receipt.waitFor();
    await tabTo(receipt);
    const download = page.waitForEvent("download");
    await press("Enter");
    expect((await download).suggestedFilename()).to.equal(`receipt-${id}.jws`);
    expect(errors).to.deep.equal([]);
    expect(new Set(requests.slice(1))).to.deep.equal(
      new Set([
        "GET /api/key",
        "GET /api/deletion",
        "DELETE /api/entity/user/email/bea%40example.org",
        `GET /api/deletion/${id}`,
        `GET /api/deletion/${id}/receipt`,
      ]),
    );
  });
});

/** Presses Tab until an element has the focus. */
async function tabTo(element: Locator): Promise<void> {
  const has = () => element.evaluate((one) => one.matches(":focus"));
  for (let presses = 0; !(await has()); presses += 1) {
    expect(presses, "the element is reached by Tab").to.be.below(100);
    await element.page().keyboard.press("Tab");
  }
}
