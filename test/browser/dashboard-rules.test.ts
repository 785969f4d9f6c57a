import { expect } from "chai";
import type { Page } from "playwright-core";
import { startService } from "../support/service.js";
import { until } from "../support/until.js";
import { axeFindings, scriptsOf, sideways, unseen } from "./browser.js";
import { NOW } from "./dashboard-data.js";
import { stage } from "./stage.js";

const PEOPLE = 30;

describe("on the dashboard's page of a segment by rule,", function () {
  this.timeout(60_000);
  const on = stage(async () => {
    const service = await startService({ roles: ["api"] }, { clock: () => NOW });
    const send = async (method: string, path: string, json: unknown) =>
      expect((await service.fetch(path, { method, json })).status, path).to.equal(200);
    await send("PUT", "/api/segment/staff", { name: "Staff" });
    await send("PUT", "/api/segment/pro", { name: "On Pro", rule: { attribute: "plan", is: "pro" } });
    await send("PUT", "/api/segment/active", {
      name: "Active",
      rule: {
        all: [
          { attribute: ["address", "country"], is: "de" },
          { not: { any: [{ segment: "staff" }, { stream: "web", count: { at_most: 2, within: "90d" } }] } },
        ],
      },
    });
    const people = Array.from({ length: PEOPLE }, (_, n) => ({ _uid: `u-${n}`, plan: n % 3 === 0 ? "team" : "pro" }));
    await send("POST", "/collect/json/web", people);
    return service;
  });

  const focused = (page: Page) =>
    page.evaluate<string>("document.activeElement.ariaLabel ?? document.activeElement.textContent");
  const focusIs = (page: Page, name: string) =>
    until(`the focus is on ${name}`, async () => (await focused(page)) === name);
  /** Presses Tab until a control has the focus. */
  const tabTo = async (page: Page, name: string) => {
    for (let stops = 0; stops < 40 && (await focused(page)) !== name; stops += 1) await page.keyboard.press("Tab");
    expect(await focused(page)).to.equal(name);
  };

  it("a rule is changed by keyboard alone: suggestions, preview, the question before people leave, and no lost focus", async () => {
    const { page, errors } = await on.ready("?view=segment&id=pro");
    const { keyboard } = page;
    await tabTo(page, "Edit");
    await keyboard.press("Enter");
    await focusIs(page, "Conditions that hold");
    await tabTo(page, "+ condition");
    await keyboard.press("Enter");
    await focusIs(page, "Kind");
    await keyboard.press("Tab");
    await keyboard.type("pl");
    await page.clock.runFor(500);
    await page.locator(".picker [role=option]", { hasText: "plan" }).waitFor();
    await keyboard.press("ArrowDown");
    await keyboard.press("Enter");
    expect(await page.getByRole("combobox", { name: "Name" }).last().inputValue()).to.equal("plan");
    await tabTo(page, "Value");
    await keyboard.type("team, gold");
    await page.clock.runFor(500);
    await page.getByText("plan is pro, and plan is team or gold").waitFor();
    await page.getByText("0 of 30, 0 %").waitFor();
    expect(await page.locator(".values-field .chip").allTextContents()).to.deep.equal(["pro×", "team×"]);
    await tabTo(page, "Remove the condition");
    await keyboard.press("Enter");
    await focusIs(page, "+ condition");
    for (const name of ["Remove the condition", "any case", "Value"]) {
      await keyboard.press("Shift+Tab");
      if (name !== "any case") expect(await focused(page)).to.equal(name);
    }
    await keyboard.press("Backspace");
    await keyboard.type("team");
    await page.clock.runFor(500);
    await page.getByText("20 of today's 20 would leave, 10 would join.").waitFor();
    await tabTo(page, "Save rule");
    await keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Save the rule" });
    await dialog.waitFor();
    await keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await focusIs(page, "Save rule");
    await keyboard.press("Enter");
    await dialog.waitFor();
    await tabTo(page, "Save all the same");
    await keyboard.press("Enter");
    await focusIs(page, "Edit");
    await page.getByText("plan is team").waitFor();
    expect(errors).to.deep.equal([]);
  });

  it("a new one is made from the list, and an error of its rule is shown in its row", async () => {
    const { page } = await on.ready("?view=segments");
    await page.getByRole("button", { name: "New segment by rule" }).click();
    await page.getByRole("textbox", { name: "Id" }).fill("new");
    await page.getByRole("combobox", { name: "Name", exact: true }).fill("email");
    await page.getByRole("textbox", { name: "Value" }).fill("a@example.org");
    await page.clock.runFor(500);
    await page.getByRole("group", { name: "Condition" }).getByText("The identity field email").waitFor();
    await page.getByRole("combobox", { name: "Test" }).selectOption("exists");
    await page.getByRole("switch", { name: "not" }).last().check();
    await page.clock.runFor(500);
    await page.getByText("has no email").waitFor();
    await page.getByRole("button", { name: "as JSON" }).click();
    const json = page.getByRole("textbox", { name: "Rule as JSON" });
    expect(JSON.parse(await json.inputValue())).to.deep.equal({ all: [{ not: { attribute: "email" } }] });
    await json.fill('{ "all": [{ "not": { "attribute": "plan" } }] }');
    await page.clock.runFor(500);
    await page.getByText("has no plan").waitFor();
    await page.getByRole("button", { name: "as rows" }).click();
    expect(await page.getByRole("combobox", { name: "Name", exact: true }).inputValue()).to.equal("plan");
    await page.getByText("has no plan").waitFor();
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.waitForSelector("main[data-view=segment][data-state=ready]");
    await page.getByRole("heading", { name: "new" }).waitFor();
    const made = (await (await on.service.fetch("/api/segment/new")).json()) as { data: { rule: unknown } };
    expect(made.data.rule).to.deep.equal({ all: [{ not: { attribute: "plan" } }] });
  });

  it("it shows why a person is not in it; a key with metric:read sees the progress until it ends, and no rule", async () => {
    const { page } = await on.ready("?view=segment&id=active", { prepare: unseen });
    await page.getByRole("button", { name: "Why, or why not" }).click();
    await page.getByRole("textbox", { name: "Value" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.type("u-1");
    await page.keyboard.press("Enter");
    const why = page.locator(".card", { has: page.getByRole("heading", { name: "Why, or why not" }) });
    await why.getByText("This person is not in Active.").waitFor();
    expect(await why.locator("li").allInnerTexts()).to.deep.equal([
      "✗ address › country is de",
      "✗ not any of\n✗ in Staff\n✓ web at most 2 times within 90 days",
      "✗ in Staff",
      "✓ web at most 2 times within 90 days",
    ]);
    expect(await why.getByText("It does not change as time passes.").count()).to.equal(1);

    const { key } = await on.newKey(["metric:read"]);
    const reader = (await on.ready("?view=segment&id=active", { key })).page;
    await reader.getByText(`Computing: 0 of ${PEOPLE}`).waitFor();
    expect(await reader.getByRole("button", { name: "Edit" }).count()).to.equal(0);
    expect(await reader.locator("main").innerText()).to.not.include("country");
    const { catalogue } = on.service.service.stores;
    const rule = (await catalogue.segmentsById(["active"])).get("active")?.byRule;
    await catalogue.setComputing("active", rule ?? { change: -1 }, undefined);
    await reader.clock.runFor(4_000);
    await reader.getByText("Computing").waitFor({ state: "detached" });
  });

  it("its scripts are at most 60 kB compressed; the builder is loaded when it is opened, fits into any width and under a finger, and axe has no serious finding", async () => {
    const scripts: string[] = [];
    let sizes: ReturnType<typeof scriptsOf> | undefined;
    const prepare = async (page: Page) => {
      sizes = scriptsOf(page);
      page.on("response", (response) => scripts.push(response.url()));
    };
    const { page, errors } = await on.ready("?view=segment&id=active", { prepare });
    const isLoaded = () => scripts.some((url) => /\/builder-\w+\.js$/.test(url));
    await page.getByRole("button", { name: "Edit" }).waitFor();
    expect((await sizes?.())?.compressed).to.be.within(1, 60_000);
    expect(isLoaded()).to.equal(false);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("button", { name: "+ condition" }).last().click();
    expect(isLoaded()).to.equal(true);
    // At 200 % a window of 1280 × 900 px contains half the pixels.
    for (const [width, height] of [
      [1280, 900],
      [640, 450],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["dark", "light"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await sideways(page), `${width} px, ${colorScheme}`).to.equal(0);
        expect(await axeFindings(page), `${width} px, ${colorScheme}`).to.deep.equal([]);
      }
    }
    for (const button of await page.locator("fieldset button").all())
      expect((await button.boundingBox())?.width, await button.innerText()).to.be.at.least(44);
    expect(errors).to.deep.equal([]);
  });
});
