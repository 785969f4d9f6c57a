import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { MongoClient } from "mongodb";

/** A way to the MongoDB server on which changes of several processes never overlap. */
export interface TurnsProxy {
  /** The URL of the server by this way. */
  readonly url: string;
  close(): Promise<void>;
}

/** Commands that look for documents and change them. */
const CHANGES = new Set(["update", "delete", "findAndModify", "findandmodify"]);

/**
 * Some servers that speak MongoDB's protocol look for a document and change it in two steps, so that two processes undo each
 * other's updates, which MongoDB itself never lets happen. For such a server this hands on one change at a time; for
 * another it does nothing.
 */
export async function openTurnsProxy(server: string): Promise<TurnsProxy> {
  if (!(await updatesInTwoSteps(server))) return { url: server, close: async () => {} };
  const upstream = new URL(server);
  let last: Promise<void> = Promise.resolve();
  const turn = (): Promise<() => void> =>
    new Promise((resolve) => {
      last = last.then(() => new Promise((done) => resolve(done)));
    });

  const clients = new Set<Socket>();
  const proxy = createServer({ noDelay: true }, (client) => {
    clients.add(client);
    client.once("close", () => clients.delete(client));
    carry(client, createConnection({ host: upstream.hostname, port: Number(upstream.port), noDelay: true }), turn);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const url = new URL(server);
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    url: url.href,
    async close() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

async function updatesInTwoSteps(server: string): Promise<boolean> {
  const client = new MongoClient(server);
  try {
    return (await client.db("admin").command({ buildInfo: 1 })).ferretdbVersion !== undefined;
  } finally {
    await client.close();
  }
}

/** Joins both ends; a change goes out when its turn has come, which ends with its reply, whether anybody still waits for it or not. */
function carry(client: Socket, server: Socket, turn: () => Promise<() => void>): void {
  let release: (() => void) | undefined;
  let gone = false;
  const end = () => {
    gone = true;
    client.destroy();
    if (release === undefined) server.destroy();
  };
  const replied = () => {
    release?.();
    release = undefined;
    if (gone) server.destroy();
  };
  client.on("error", () => {}).on("close", end);
  server
    .on("error", () => {})
    .on("close", () => {
      replied();
      end();
    });
  void (async () => {
    for await (const message of messagesOf(client)) {
      if (CHANGES.has(commandOf(message))) {
        const done = await turn();
        if (gone) return done();
        release = done;
      }
      server.write(message);
    }
  })().catch(end);
  void (async () => {
    for await (const message of messagesOf(server)) {
      if (!gone) client.write(message);
      replied();
    }
  })().catch(end);
}

/** The messages of the wire protocol; each begins with its length. */
async function* messagesOf(socket: Socket): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const piece of socket) {
    rest = Buffer.concat([rest, piece as Buffer]);
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      yield rest.subarray(0, length);
      rest = rest.subarray(length);
    }
  }
}

/** The name of the command: the first one of the document that follows the header, the flags, a byte and its own length. */
function commandOf(message: Buffer): string {
  const from = 16 + 4 + 1 + 4 + 1;
  return message.toString("latin1", from, Math.max(from, message.indexOf(0, from)));
}
