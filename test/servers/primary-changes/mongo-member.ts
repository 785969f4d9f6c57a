import { mkdirSync } from "node:fs";
import { type Document, MongoClient, type Timestamp } from "mongodb";
import { type FaultProxy, openFaultProxy } from "../../support/fault-proxy.js";
import { freePort } from "../../support/free-port.js";
import { startProgram } from "../../support/program.js";

/** One member of a replica set of a test's own, which may be treated badly. */
export interface MongoMember {
  /** Where clients and the other members reach it: by way of a fault proxy. */
  readonly host: string;
  /** Its response to `hello`, not through the proxy; undefined while it does not respond. */
  hello(): Promise<Hello | undefined>;
  /** Runs a command past the proxy. */
  command(command: object): Promise<Document>;
  /** Whether it replicates the writes of the primary; existing data stays. */
  replicates(does: boolean): Promise<void>;
  /** Ends it like `kill -9`. */
  kill(): Promise<void>;
  /** Starts it, on the data that it had. */
  start(): Promise<void>;
  /** SIGSTOP: every connection stays open, and nothing is answered. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Blocks requests of clients and of the other members; its own requests to the others are answered. */
  cutOff(): Promise<void>;
  joinAgain(): Promise<void>;
  close(): Promise<void>;
}

interface Hello {
  readonly isWritablePrimary: boolean;
  readonly secondary: boolean;
  /** Id of the election of a primary: later elections have greater ids. */
  readonly electionId?: { toHexString(): string };
  readonly lastWrite: {
    readonly opTime: { readonly ts: Timestamp };
    /** Writes up to this time are on a majority of the members. */
    readonly majorityOpTime: { readonly ts: Timestamp };
  };
}

/** Maximum wait for a member that does not respond, ms. */
const SILENT_MS = 1000;

/** Starts the program TEST_MONGOD, with its data in `dir`, as a member of a set that is not initiated yet. */
export async function startMember(dir: string, set: string): Promise<MongoMember> {
  mkdirSync(dir);
  const port = await freePort();
  const proxy: FaultProxy = await openFaultProxy(port);
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/`, {
    directConnection: true,
    serverSelectionTimeoutMS: SILENT_MS,
    connectTimeoutMS: SILENT_MS,
  });
  async function hello(): Promise<Hello | undefined> {
    try {
      // Once it has been connected, the client connects again by itself.
      await client.connect();
      return (await client.db("admin").command({ hello: 1 }, { timeoutMS: SILENT_MS })) as unknown as Hello;
    } catch {
      return undefined;
    }
  }

  const program = await startProgram(
    process.env.TEST_MONGOD ?? "",
    argumentsFor(dir, port, set),
    async () => (await hello()) !== undefined,
  );
  return {
    host: `127.0.0.1:${proxy.port}`,
    hello,
    command: (command) => client.db("admin").command(command),
    async replicates(does) {
      await client.db("admin").command({ configureFailPoint: "stopReplProducer", mode: does ? "off" : "alwaysOn" });
    },
    kill: program.kill,
    start: program.restart,
    freeze: program.pause,
    thaw: program.resume,
    cutOff: () => proxy.set("blackhole"),
    joinAgain: () => proxy.set("pass"),
    async close() {
      await client.close();
      await program.kill();
      await proxy.close();
    },
  };
}

function argumentsFor(dir: string, port: number, set: string): string[] {
  return [
    ...["--bind_ip", "127.0.0.1", "--port", String(port), "--nounixsocket"],
    ...["--dbpath", dir, "--logpath", `${dir}.log`, "--logappend", "--quiet"],
    ...["--replSet", set, "--oplogSize", "100", "--wiredTigerCacheSizeGB", "0.25"],
    ...["--setParameter", "diagnosticDataCollectionEnabled=false", "--setParameter", "enableTestCommands=1"],
  ];
}
