import { expect } from "chai";
import type { History, HistoryMessage } from "../../src/entities/ports.js";
import { withFacts } from "../../src/entities/profile/complete-facts.js";
import { messagePages } from "../../src/entities/profile/message-pages.js";
import { Rules } from "../../src/segments/current-rules.js";
import type { Stores } from "../../src/stores/stores.js";
import { freshEntity, keep, messageFor } from "../support/commits.js";
import { temporaryStores } from "../support/stores.js";

describe("pages of messages", () => {
  const entity = freshEntity();
  let opened: Stores;
  let pages: HistoryMessage[][];
  let history: Pick<History, "page">;
  before(async () => {
    opened = await temporaryStores();
    const messages = Array.from({ length: 40 }, () => messageFor(entity.id, { sealed: new Uint8Array(300_000) }));
    await keep(opened.entities, entity, { messages });
  });
  beforeEach(() => {
    pages = [];
    history = {
      async page(...requested) {
        pages.push(await opened.history.page(...requested));
        return pages.at(-1) as HistoryMessage[];
      },
    };
  });

  function expectBounded() {
    expect(pages.flat()).to.have.length(40);
    expect(pages[0]).to.have.length(10);
    for (const page of pages.slice(2)) expect(page.length).to.be.at.most(4);
  }

  it("are bounded in bytes however large the messages are, after the first ones", async () => {
    for await (const page of messagePages(history, [entity.id])) expect(page).to.equal(pages.at(-1));
    expectBounded();
  });

  it("are read when a rule needs facts that the profile lacks", async () => {
    const { stream } = messageFor(entity.id);
    const rules = new Rules(1, [{ id: "seen", table: entity.table, rule: { stream } }]);
    const document = {
      attributes: new Map(),
      identities: [],
      streams: [stream],
      facts: new Map(),
      modified: undefined,
    };
    const profile = { entity, decoded: { document, bytes: 0 } };
    const complete = await withFacts({ history, entityKeys: opened.entityKeys }, profile, rules);
    expect(complete.decoded.document.facts.get(stream)?.count).to.equal(40);
    expectBounded();
  });
});
