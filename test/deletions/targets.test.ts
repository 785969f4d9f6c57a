import { expect } from "chai";
import { systemClock } from "../../src/clock.js";
import { hookTarget } from "../../src/deletions/targets/hook.js";
import { downstreamTargets, ownStore } from "../../src/deletions/targets/index.js";
import { remoteTarget } from "../../src/deletions/targets/remote.js";
import { StartError } from "../../src/errors.js";
import { noFailpoint } from "../../src/failpoint.js";
import { downstreamTargetContract, ownTargets, subjectOf } from "../contracts/downstream-target.contract.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { freshEntity, keep, messageFor } from "../support/commits.js";
import { type RemoteSystem, remoteSystem, type Trouble } from "../support/remote-system.js";
import { type OpenStores, openTemporaryStores } from "../support/stores.js";
import { until } from "../support/until.js";

downstreamTargetContract("membership index", async () => {
  const { stores, close } = await openTemporaryStores();
  return {
    target: ownStore("membership-index", stores.memberships, noFailpoint),
    async put({ entity }) {
      await keep(stores.entities, freshEntity([], { id: entity }), { said: [{ add: ["buyers"] }] });
    },
    close,
  };
});

downstreamTargetContract("history archive", async () => {
  const { stores, close } = await openTemporaryStores();
  return {
    target: ownStore("history-archive", stores.history, noFailpoint),
    async put({ entity }) {
      await keep(stores.entities, freshEntity([], { id: entity }), { messages: [messageFor(entity)] });
    },
    close,
  };
});

it("one of our own stores erases all entities of a request in one call", async () => {
  const calls: (readonly string[])[] = [];
  const store = { erase: async (ids: readonly string[]) => void calls.push(ids), holds: async () => false };
  const subject = { ...subjectOf({ entity: "a", email: "ann@example.org" }), entities: ["a", "b"] };
  await ownStore("membership-index", store, noFailpoint).erase(subject);
  expect(calls).to.deep.equal([["a", "b"]]);
});

downstreamTargetContract("remote target", async () => {
  const system = await remoteSystem();
  return {
    target: remoteTarget({ name: "crm", url: system.url, token: "secret" }, noFailpoint),
    put: async ({ email }) => void system.holds.add(email),
    close: system.close,
  };
});

describe("a remote target", () => {
  const subject = subjectOf({ entity: "e", email: "ann@example.org" });
  let system: RemoteSystem;

  beforeEach(async () => {
    system = await remoteSystem();
  });

  const target = () => remoteTarget({ name: "crm", url: `${system.url}/`, token: "secret" }, noFailpoint);

  it("gets the request id, the table, the identities as written and the cut-off, with its token, and no more", async () => {
    await target().erase(subject);
    await target().verify(subject);
    const body = {
      request_id: subject.requestId,
      table: "user",
      identities: [{ field: "email", value: "ann@example.org" }],
      cut_off: subject.cutOff,
    };
    expect(system.calls).to.deep.equal([
      { path: "/hooks/erase", authorization: "Bearer secret", body },
      { path: "/hooks/verify", authorization: "Bearer secret", body },
    ]);
  });

  const troubles: [Trouble, string][] = [
    ["status", "answers 503"],
    ["redirect", "redirects"],
    ["flood", "answers without end"],
    ["reset", "drops the connection"],
  ];
  for (const [trouble, words] of troubles) {
    it(`fails without an identity in the error if it ${words}`, async () => {
      system.trouble = trouble;
      for (const call of [target().erase(subject), target().verify(subject)]) {
        const failure = await call.then(
          () => undefined,
          (error: unknown) => String(error),
        );
        expect(failure).to.be.a("string").that.does.not.include("ann@");
      }
      expect(system.calls.map(({ path }) => path)).to.have.members(["/hooks/erase", "/hooks/verify"]);
    });
  }

  it("does not delay a stop if it never responds", async () => {
    system.trouble = "silence";
    const stopping = new AbortController();
    const call = remoteTarget({ name: "crm", url: system.url, token: "secret" }, noFailpoint, stopping.signal)
      .erase(subject)
      .catch(() => "rejected");
    await until("it was called", () => system.calls.length === 1);
    stopping.abort();
    expect(await call).to.equal("rejected");
  });

  it("fails after its time limit if it never responds, also if garbage is collected", async () => {
    system.trouble = "silence";
    const { signal } = new AbortController();
    let failure: unknown;
    remoteTarget({ name: "crm", url: system.url, token: "secret" }, noFailpoint, signal, 200)
      .erase(subject)
      .catch((error: unknown) => {
        failure = error;
      });
    await until("it is given up", () => {
      collectGarbage();
      return failure !== undefined;
    });
    expect(failure).to.have.property("message", "crm timed out after 0.2 s");
  });

  it("fails to verify if its response is no JSON", async () => {
    system.trouble = "no-json";
    const answer = await target()
      .verify(subject)
      .catch(() => "rejected");
    expect(answer).to.equal("rejected");
  });

  const addresses: [string, boolean][] = [
    ["https://crm.example.org/hooks", true],
    ["http://127.0.0.1:9/hooks", true],
    ["http://[::1]:9/hooks", true],
    ["http://localhost:9", true],
    ["http://crm.example.org/hooks", false],
    ["http://127.0.0.1.example.org/", false],
    ["ftp://127.0.0.1/", false],
    ["crm", false],
    ["https://user:word@crm.example.org", false],
  ];
  for (const [url, allowed] of addresses) {
    it(`${allowed ? "may" : "may not"} be at ${url}`, () => {
      const make = () => remoteTarget({ name: "crm", url, token: "secret" }, noFailpoint);
      if (allowed) expect(make().name).to.equal("crm");
      else expect(make).to.throw(/needs an https URL|has a user name or password in its URL/);
    });
  }
});

describe("the targets of deletions", () => {
  let open: OpenStores;
  beforeEach(async () => {
    open = await openTemporaryStores();
  });

  const targets = (...names: string[]) => {
    const remote = names.map((name) => ({ name, url: "https://crm.example.org", token: "secret" }));
    return downstreamTargets({ ...open.stores, remote, hooks: [], failpoint: noFailpoint });
  };

  it("are our own and then the configured ones, in order", () => {
    const names = targets("crm", "erp").map(({ name }) => name);
    expect(names).to.deep.equal([...ownTargets, "crm", "erp"]);
  });

  for (const name of ["profile", ...ownTargets, "verified", "key", "complete"]) {
    it(`cannot have the name ${name}, which a stage has`, () => {
      expect(() => targets("crm", name)).to.throw(StartError, `${name} is a reserved name`);
    });
  }

  it("of hooks have names that no target and no stage has", () => {
    const withHooks = (...names: string[]) => {
      const hook = (name: string) => ({ name, url: "https://a.example", token: "t", segments: ["*"] });
      const hooks = names.map((name) => hookTarget(hook(name), async () => {}, { ...open.stores, clock: systemClock }));
      const remote = [{ name: "erp", url: "https://crm.example.org", token: "secret" }];
      return downstreamTargets({ ...open.stores, remote, hooks, failpoint: noFailpoint });
    };
    expect(withHooks("crm").map(({ name }) => name)).to.deep.equal([...ownTargets, "erp", "crm"]);
    expect(() => withHooks("crm", "crm")).to.throw(StartError, "hooks is wrong: two targets have the name crm");
    expect(() => withHooks("erp")).to.throw(StartError, "hooks is wrong: two targets have the name erp");
    expect(() => withHooks("key")).to.throw(StartError, "hooks is wrong: key is a reserved name");
    for (const name of ["constructor", "__proto__"])
      expect(() => withHooks(name)).to.throw(StartError, `hooks is wrong: ${name} is a reserved name`);
  });

  it("cannot have the same name twice", () => {
    expect(() => targets("crm", "erp", "crm")).to.throw(StartError, "two targets have the name crm");
  });
});
