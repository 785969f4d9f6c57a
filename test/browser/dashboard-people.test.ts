import { expect } from "chai";
import type { Locator, Page } from "playwright-core";
import { type RemoteSystem, remoteSystem } from "../support/remote-system.js";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { downloaded, unseen } from "./browser.js";
import { NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

interface Deletion {
  readonly request_id: string;
  readonly attempts: number;
  readonly completed_at: string | null;
}

describe("on the dashboard's pages of people and deletions,", function () {
  this.timeout(60_000);
  let crm: RemoteSystem;
  const on = stage(async () => {
    crm = await remoteSystem();
    const targets = [{ name: "crm", url: crm.url, token: "secret" }];
    return startService({ deletions: { targets } }, { clock: () => NOW });
  });
  after(() => crm?.close());
  afterEach(() => {
    crm.trouble = undefined;
  });

  const call = async (method: string, path: string, json?: unknown) =>
    (
      (await (await on.service.fetch(path, { method, ...(json === undefined ? {} : { json }) })).json()) as {
        data: Deletion;
      }
    ).data;
  const collect = (message: object) => call("POST", "/collect/json/web", message);
  const tried = (id: string, times: number) =>
    until(`it was tried ${times} times`, async () => (await call("GET", `/api/deletion/${id}`)).attempts === times);
  const isDone = (id: string) =>
    until("the deletion is completed", async () => (await call("GET", `/api/deletion/${id}`)).completed_at !== null);

  /** A deletion that the remote target has refused three times. No retry follows: the clock does not advance. */
  async function stuckDeletion(email: string): Promise<string> {
    crm.trouble = "status";
    const { request_id } = await call("DELETE", `/api/entity/user/email/${email}`);
    for (const times of [1, 2]) {
      await tried(request_id, times);
      await call("POST", `/api/deletion/${request_id}/retry`);
    }
    await tried(request_id, 3);
    return request_id;
  }
  /** The target works again, and the deletion is retried until it is completed. */
  async function retried(id: string): Promise<void> {
    crm.trouble = undefined;
    await call("POST", `/api/deletion/${id}/retry`);
    await isDone(id);
  }
  const rowOf = (page: Page, caption: string, id: string) =>
    page.getByRole("table", { name: caption }).getByRole("row", { name: id });

  async function lookUp(page: Page, field: string, value: string): Promise<void> {
    await page.getByLabel("Field").selectOption(field);
    await page.getByLabel("Value").fill(value);
    await page.getByRole("button", { name: "Look up" }).click();
  }

  it("a person is shown within the bounds of the key", async () => {
    await collect({ _uid: "bea", email: "bea@example.org", name: "Bea Example", city: "Oslo", segments: ["buyers"] });
    const { key } = await on.newKey(["entity:read"], on.service, { fields: ["name"], by: "_uid" });
    const { page } = await on.ready("?view=people", { key });
    await lookUp(page, "_uid", "bea");
    await page.getByRole("heading", { name: "Profile" }).waitFor();
    const text = await page.innerText("main");
    expect(text).to.include("Bea Example").and.include("(bound fields)");
    expect(text).to.include("Not visible to this key");
    for (const part of ["bea@example.org", "Oslo", "buyers"]) expect(text).to.not.include(part);
    expect(await page.getByLabel("Field").locator("option").allInnerTexts()).to.deep.equal(["_uid"]);
  });

  it("a person is followed from look-up to receipt, and no address, history or storage contains personal data", async () => {
    await collect({ email: "ann@example.org", name: "Ann Example", segments: ["buyers"] });
    const { page, errors } = await on.ready("?view=people");
    const address = page.url();
    await page.getByLabel("Value").fill("ann@example.org");
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByRole("heading", { name: "Profile" }).waitFor();
    expect(await page.getByLabel("Field").inputValue()).to.equal("email");
    const text = await page.innerText("main");
    for (const part of ["Ann Example", "ann@example.org", "buyers", "web", "Created", "Modified"])
      expect(text).to.include(part);
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByText("1 stored").waitFor();
    const exported = await downloaded(page.getByRole("button", { name: "Download NDJSON" }));
    expect(exported.text).to.include('"type":"end"');
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("row", { name: "Targets segment memberships, message history" }).waitFor();
    await page
      .locator("input:focus")
      .and(page.getByLabel(/^Type DELETE/))
      .waitFor();
    const confirm = page.locator("form", { hasText: "Type DELETE" }).getByRole("button", { name: "Delete" });
    await page.getByLabel(/^Type DELETE/).fill("delete");
    expect(await confirm.isDisabled()).to.equal(true);
    await page.getByLabel(/^Type DELETE/).fill("DELETE");
    await confirm.click();
    await page.getByText(/Request .*: accepted/).waitFor();
    const id = await page.locator("code").first().innerText();
    await isDone(id);
    await page.clock.runFor(5_000);
    await page.getByText(/: completed/).waitFor();
    expect(await page.innerText("main"))
      .to.include("message history")
      .and.not.include("Ann Example");
    const receipt = await downloaded(page.getByRole("button", { name: "Receipt" }));
    expect(receipt.name).to.equal(`receipt-${id}.jws`);
    expect(receipt.text).to.match(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(page.url()).to.equal(address);
    const kept = await page.evaluate<string>(
      "JSON.stringify([localStorage, sessionStorage, history.state, document.title])",
    );
    expect(kept).to.not.match(/ann|example/i);
    expect((await on.service.fetch("/api/entity/user/email/ann%40example.org")).status).to.equal(404);
    expect(errors).to.deep.equal([]);
  });

  it("an identity without a profile is reported, and another table has its own fields", async () => {
    const { page } = await on.ready("?view=people");
    await lookUp(page, "email", "nobody@example.org");
    await page.getByText("No profile has this identity.").waitFor();
    await page.getByLabel("Table").selectOption("account");
    const fields = await page.getByLabel("Field").locator("option").allInnerTexts();
    expect(fields).to.include("account_id");
  });

  it("a stuck deletion is counted by the overview, names target and reason, is opened by its row unlike an unknown id, and Try now completes it", async () => {
    await collect({ email: "bob@example.org" });
    const id = await stuckDeletion("bob@example.org");
    const overview = (await on.ready("?view=overview")).page.locator("[data-figure=deletions]");
    expect(await overview.innerText()).to.include("1 stuck");
    expect(await overview.locator("data").getAttribute("value")).to.equal("1");
    const { page, errors } = await on.ready("?view=deletions");
    const open = rowOf(page, "Open deletions", id);
    expect(await open.innerText())
      .to.include("crm answered 503")
      .and.include("stuck")
      .and.include("21:52");
    await open.getByRole("button", { name: id, exact: true }).click();
    await page.clock.runFor(1_000);
    await page.getByText(`Request ${id}: waiting: crm answered 503`).waitFor();
    await page.getByRole("button", { name: "New deletion" }).click();
    await page.getByRole("button", { name: "State of a request" }).click();
    await page.getByLabel("Request id").fill("0123456789abcdef0123-1");
    await page.getByRole("button", { name: "Show" }).click();
    await page.clock.runFor(1_000);
    await page.getByText("No request has this id.").waitFor();
    crm.trouble = undefined;
    await open.getByRole("button", { name: "Try now" }).click();
    await isDone(id);
    await page.keyboard.press("r");
    await rowOf(page, "Completed deletions", id).waitFor();
    // The console reports the 404 of the unknown id.
    expect(errors.filter((error) => !error.includes("404"))).to.deep.equal([]);
  });

  it("open deletions are grouped by reason, filtered and sorted, and all of a reason are retried at once", async () => {
    const stuck = [await stuckDeletion("kim@example.org"), await stuckDeletion("lea@example.org")];
    const { request_id } = await call("DELETE", "/api/entity/user/email/mia@example.org");
    await tried(request_id, 1);
    const ids = [...stuck, request_id];
    const now = NOW + 6 * 24 * 3_600_000;
    const { page, errors } = await on.ready("?view=deletions", { prepare: unseen, now });
    const card = page.locator("section.card", { hasText: "Open deletions" });
    const isListed = (expected: readonly string[]) =>
      until(`the list is ${expected}`, async () => {
        const rows = await card.locator("tbody th").allInnerTexts();
        return JSON.stringify(rows) === JSON.stringify(expected);
      });
    await isListed(ids);
    const work = page.locator("section.card", { has: page.getByRole("heading", { name: "Deletions", exact: true }) });
    expect(await work.innerText())
      .to.match(/3\s+open, 2 stuck ▲/)
      .and.match(/Oldest open\s+6 d, due in 24 d/);
    await work.getByText("2 stuck ▲ the oldest for 6 d").waitFor();
    await card.getByRole("button", { name: "Accepted" }).click();
    await isListed(ids.toReversed());
    await card.getByLabel("State").selectOption("Stuck");
    await isListed(stuck.toReversed());
    await card.getByLabel("State").selectOption("All open");
    await work.getByRole("button", { name: "3 wait for crm: answered 503" }).click();
    expect(await card.getByLabel("Reason").inputValue()).to.equal("crm answered 503");
    await isListed(ids.toReversed());
    crm.trouble = undefined;
    await page.keyboard.press("t");
    await work.getByText("3 tried again").waitFor();
    for (const id of ids) await isDone(id);
    await page.keyboard.press("r");
    await work.getByText("open, none stuck").waitFor();
    expect(await card.count()).to.equal(0);
    expect(errors).to.deep.equal([]);
  });

  it("Try now of a deletion that has been completed shows the error of the service", async () => {
    const id = await stuckDeletion("eve@example.org");
    const { page } = await on.ready("?view=deletions", { prepare: unseen });
    await retried(id);
    const open = rowOf(page, "Open deletions", id);
    await open.getByRole("button", { name: "Try now" }).click();
    await open.getByRole("alert").waitFor();
  });

  it("members have pages and a column for each identity field; a value opens the profile and is in no address", async () => {
    const people = Array.from({ length: 120 }, (_, index) => ({
      _uid: `m-${index}`,
      ...(index % 2 === 0 ? { email: `m-${index}@example.org` } : {}),
      segments: ["club"],
    }));
    const sent = await on.service.fetch("/collect/json/web", { method: "POST", json: people });
    expect(sent.status).to.equal(200);
    const { page, errors } = await on.ready("?view=segment&id=club");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("1–50 of 120").waitFor();
    const table = page.getByRole("table", { name: "Members" });
    expect(await table.locator("th[scope=col]").allInnerTexts()).to.deep.equal(["_uid", "email", "Member since"]);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–100 of 120").waitFor();
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText("1–50 of 120").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–100 of 120").waitFor();
    const member = table.getByRole("button", { name: /@example.org/ }).first();
    const email = await member.innerText();
    await member.click();
    await page.getByRole("heading", { name: "Profile" }).waitFor();
    expect(await page.innerText("main"))
      .to.include(email)
      .and.include("club");
    expect(page.url()).to.match(/\?view=people&range=7d$/);
    await page.goBack();
    await page.getByText("51–100 of 120").waitFor();
    expect(errors).to.deep.equal([]);
  });

  it("the people of a file are counted, and its other lines are listed, before they are deleted, also over plain HTTP", async () => {
    for (const name of ["kim", "lea"]) await collect({ _uid: name, email: `${name}@example.org` });
    const { page, errors } = await on.ready("?view=deletions", { isInsecure: true });
    await page.keyboard.press("D");
    const card = page.locator("section", { has: page.getByRole("heading", { name: "New deletion" }) });
    const buffer = Buffer.from('kim@example.org\nlea@example.org\n"lea@example.org"\nnone@example.org\n');
    await card.getByLabel("File").setInputFiles({ name: "people.txt", mimeType: "text/plain", buffer });
    const known = (number: number) => card.getByRole("row", { name: `Of people with a profile ${number}` }).waitFor();
    await known(2);
    expect(await card.getByLabel("Field").inputValue()).to.equal("email");
    await card.getByRole("row", { name: "Named by email, one value per line" }).waitFor();
    await card.getByRole("row", { name: "Identities 3 of 4 lines; the first is line 1" }).waitFor();
    await card.getByRole("row", { name: "1 email kim@example.org" }).waitFor();
    await card.getByRole("row", { name: "3 A line without a header is one value" }).waitFor();
    await card.getByLabel("Field").selectOption("_uid");
    await known(0);
    await card.getByLabel("Field").selectOption("email");
    await known(2);
    await card.getByLabel(/^Type DELETE/).fill("DELETE");
    await card.getByRole("button", { name: "Delete", exact: true }).click();
    await card.getByText("3 accepted, 0 rejected.").waitFor();
    const { text } = await downloaded(card.getByRole("button", { name: "Download request ids" }));
    const [head, ...ids] = text.trim().split("\r\n");
    expect(head).to.equal("request_id");
    expect(ids).to.have.length(3);
    await Promise.all(ids.map(isDone));
    await page.clock.runFor(5_000);
    await card.getByText("All 3 are completed.").waitFor();
    const receipts = await downloaded(card.getByRole("button", { name: "All receipts" }));
    const claims = receipts.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(Buffer.from(line.split(".")[1] ?? "", "base64url").toString()));
    expect(claims.map(({ request_id }) => request_id)).to.deep.equal(ids);
    // The console reports the 404 of the preview of an unknown identity, and the header that plain HTTP has in vain.
    const expected = /404|Cross-Origin-Opener-Policy/;
    expect(errors.filter((error) => !expected.test(error))).to.deep.equal([]);
  });

  it("an officer with only entity:delete deletes, follows and downloads the receipt with the keyboard alone", async () => {
    const { key } = await on.newKey(["entity:delete"]);
    const { page, requests, errors } = await on.ready("?view=deletions", { key });
    expect(await page.getByRole("link", { name: / needs / }).count()).to.equal(8);
    const press = (name: string) => page.keyboard.press(name);
    await press("d");
    await page.locator("input:focus").and(page.getByLabel("Value")).waitFor();
    await page.keyboard.type("bea@example.org");
    await press("Enter");
    await page.getByText("A preview also needs the scope entity:read").waitFor();
    await page.keyboard.type("DELETE");
    await press("Enter");
    await page.getByText(/Request .*: accepted/).waitFor();
    const id = await page.locator("p[role=status] code").innerText();
    await isDone(id);
    await page.clock.runFor(5_000);
    await page.getByText(/: completed/).waitFor();
    const receipt = page.getByRole("button", { name: `Receipt of ${id}` }).first();
    await tabTo(receipt);
    const download = page.waitForEvent("download");
    await press("Enter");
    expect((await download).suggestedFilename()).to.equal(`receipt-${id}.jws`);
    expect(requests).to.include("DELETE /api/entity/user/email/bea%40example.org");
    expect(errors).to.deep.equal([]);
  });

  it("a preview of an identity typed before does not allow a deletion of the new one", async () => {
    await collect({ email: "fay@example.org" });
    const { page } = await on.ready("?view=deletions", { prepare: unseen });
    await page.getByRole("button", { name: "New deletion" }).click();
    await page.getByLabel("Field").selectOption("email");
    await page.getByLabel("Value").fill("fay@example.org");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("table", { name: "What would be removed" }).waitFor();
    await page.getByLabel(/^Type DELETE/).fill("DELETE");
    await page.getByLabel("Value").fill("gus@example.org");
    expect(await page.getByLabel(/^Type DELETE/).count()).to.equal(0);
  });
});

/** Presses Tab until an element has the focus. */
async function tabTo(element: Locator): Promise<void> {
  const hasFocus = () => element.evaluate((one) => one.matches(":focus"));
  for (let presses = 0; !(await hasFocus()); presses += 1) {
    expect(presses, "presses of Tab").to.be.below(100);
    await element.page().keyboard.press("Tab");
  }
}
