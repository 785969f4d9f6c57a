import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect } from "chai";
import { type FaultProxy, openFaultProxy } from "../support/fault-proxy.js";
import { until } from "../support/until.js";

describe("fault proxy", () => {
  /** A server that gives back what it gets. */
  const taken: string[] = [];
  const echo = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (piece) => {
      taken.push(piece.toString());
      socket.write(piece);
    });
  });
  let proxy: FaultProxy;

  before(async () => {
    await once(echo.listen(0, "127.0.0.1"), "listening");
  });
  after(() => echo.close());
  beforeEach(async () => {
    taken.length = 0;
    proxy = await openFaultProxy((echo.address() as AddressInfo).port);
  });
  afterEach(() => proxy.close());

  interface Caller {
    readonly socket: Socket;
    text: string;
    isClosed: boolean;
  }

  function call(): Caller {
    const caller: Caller = { socket: connect(proxy.port, "127.0.0.1"), text: "", isClosed: false };
    caller.socket.on("data", (piece) => {
      caller.text += piece.toString();
    });
    caller.socket.on("error", () => {});
    caller.socket.on("close", () => {
      caller.isClosed = true;
    });
    return caller;
  }

  async function say(text: string, caller = call()): Promise<Caller> {
    const length = caller.text.length + text.length;
    caller.socket.write(text);
    await until("an echo or the end", () => caller.text.length >= length || caller.isClosed);
    return caller;
  }

  it("hands everything through, and the end too", async () => {
    const caller = await say("x".repeat(500_000));
    expect(caller.text).to.have.length(500_000);
    caller.socket.end();
    await until("the connection is gone at both ends", () => proxy.connections === 0);
  });

  it("refuses as if the server had stopped, and takes connections again on the same port", async () => {
    const earlier = await say("a");
    await proxy.set("refuse");
    await until("it is cut", () => earlier.isClosed);
    expect((await say("b")).text).to.equal("");
    await proxy.set("pass");
    expect((await say("c")).text).to.equal("c");
    expect(taken).to.deep.equal(["a", "c"]);
  });

  it("cuts what is open and lets others in", async () => {
    const earlier = await say("a");
    proxy.reset();
    await until("it is cut", () => earlier.isClosed);
    expect((await say("b")).text).to.equal("b");
  });

  it("The proxy ends open connections, discards what their callers still send, and accepts new connections", async () => {
    const earlier = await say("a");
    proxy.end();
    earlier.socket.write("late");
    await until("it is closed at both ends", () => earlier.isClosed && proxy.connections === 0);
    expect((await say("b")).text).to.equal("b");
    expect(taken).to.deep.equal(["a", "b"]);
  });

  it("swallows everything without closing, and ends what has lost something when the fault goes", async () => {
    const earlier = await say("a");
    await proxy.set("blackhole");
    earlier.socket.write("b");
    const later = call();
    later.socket.write("c");
    await until("both are open", () => proxy.connections === 2 && later.socket.bytesWritten === 1);
    const started = performance.now();
    await until("a while has gone", () => performance.now() > started + 50);
    expect([earlier.text, later.text, earlier.isClosed, later.isClosed]).to.deep.equal(["a", "", false, false]);
    await proxy.set("pass");
    await until("both are cut", () => earlier.isClosed && later.isClosed);
    expect(taken).to.deep.equal(["a"]);
  });

  it("holds pieces back, lets answers through slowly, and cuts them after some bytes", async () => {
    const timed = async (text: string) => {
      const started = performance.now();
      await say(text);
      return performance.now() - started;
    };
    await proxy.set({ latency: 50 });
    expect(await timed("a")).to.be.at.least(98);
    await proxy.set({ slow: 1_000 });
    expect(await timed("x".repeat(200))).to.be.at.least(140);
    await proxy.set({ truncate: 3 });
    const caller = await say("abcde");
    await until("it is cut", () => caller.isClosed);
    expect(caller.text).to.equal("abc");
  });

  it("lets a request through and drops its answer", async () => {
    await proxy.set("dropAnswers");
    const caller = await say("a");
    expect([caller.text, caller.isClosed]).to.deep.equal(["", true]);
    expect(taken).to.deep.equal(["a"]);
  });

  it("harms the connection alone that asks for something", async () => {
    const other = await say("other");
    const met = proxy.when("insert", "dropAnswers");
    const caller = call();
    caller.socket.write("ins");
    caller.socket.write("ert it");
    await met;
    await until("it is cut", () => caller.isClosed);
    expect(caller.text).not.to.include("ert it");
    expect((await say("insert", other)).text).to.equal("otherinsert");
  });
});
