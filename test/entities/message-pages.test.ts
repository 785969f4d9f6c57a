import { expect } from "chai";
import type { HistoryMessage } from "../../src/entities/ports.js";
import { messagePages } from "../../src/entities/read/export-entity.js";
import type { Stores } from "../../src/stores/stores.js";
import { freshEntity, keep, messageFor } from "../support/commits.js";
import { temporaryStores } from "../support/stores.js";

describe("pages of messages", () => {
  let opened: Stores;
  beforeEach(async () => {
    opened = await temporaryStores();
  });

  it("are bounded in bytes however large the messages are, after the first ones", async () => {
    const entity = freshEntity();
    const messages = Array.from({ length: 40 }, () => messageFor(entity.id, { sealed: new Uint8Array(300_000) }));
    await keep(opened.entities, entity, { messages });
    const pages: HistoryMessage[][] = [];
    for await (const page of messagePages(opened.history, [entity.id])) pages.push(page);
    expect(pages.flat()).to.have.length(40);
    expect(pages[0]).to.have.length(10);
    for (const page of pages.slice(2)) expect(page.length).to.be.at.most(4);
  });
});
