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
  afterEach(() => opened.close());

  /** Stores messages of `bytes` each, by arrival in turns of the entities; resolves with the entities' ids. */
  async function kept(count: number, bytes: number, entities = 1): Promise<string[]> {
    const made = Array.from({ length: entities }, () => freshEntity());
    for (const [turn, entity] of made.entries()) {
      const messages = Array.from({ length: count }, (_, index) =>
        messageFor(entity.id, { arrival: index * entities + turn, sealed: new Uint8Array(bytes) }),
      );
      await keep(opened.entities, entity, { messages });
    }
    return made.map(({ id }) => id);
  }

  /** The pages, and the largest number of bytes that one call of a store returned. */
  async function read(ids: readonly string[]) {
    let most = 0;
    const page: typeof opened.history.page = async (...asked) => {
      const found = await opened.history.page(...asked);
      most = Math.max(
        most,
        found.reduce((sum, { sealed }) => sum + sealed.length, 0),
      );
      return found;
    };
    const pages: HistoryMessage[][] = [];
    for await (const messages of messagePages({ page }, ids)) pages.push(messages);
    return { pages, most };
  }

  it("contain all messages of several ids once, in the order of arrival", async () => {
    const { pages } = await read(await kept(150, 10, 3));
    expect(pages.flat().map(({ arrival }) => arrival)).to.deep.equal(Array.from({ length: 450 }, (_, index) => index));
    expect(Math.max(...pages.map(({ length }) => length))).to.be.at.most(200);
  });

  it("are bounded in bytes, however large the messages are, and so is each read of the store", async () => {
    const { pages, most } = await read(await kept(40, 300_000));
    expect(pages.flat()).to.have.length(40);
    for (const page of pages.slice(2)) expect(page.length).to.be.at.most(4);
    expect(most).to.be.at.most(10 * 300_000);
  });
});
