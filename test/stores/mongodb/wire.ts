import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { BSON } from "mongodb";

/** A command as it went over the wire. */
export interface WireCommand {
  /** `insert`, `find` and so on. */
  readonly name: string;
  readonly database: string;
  readonly collection: string | undefined;
  readonly writeConcern: unknown;
  /** Whether it is part of a transaction, whose commit has the write concern. */
  readonly inTransaction: boolean;
  /** The mode of `$readPreference`; undefined where none was sent, which means the primary. */
  readonly readPreference: string | undefined;
}

/** A line to MongoDB on which every command is noted. */
export interface MongoWire {
  readonly commands: readonly WireCommand[];
  /** The same URL, by way of the line. */
  url(of: string): string;
  close(): Promise<void>;
}

/** Opens a line to the server that a URL names. */
export async function openMongoWire(server: string): Promise<MongoWire> {
  const { hostname, port } = new URL(server);
  const commands: WireCommand[] = [];
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = createConnection({ host: hostname, port: Number(port) });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    let left: Buffer = Buffer.alloc(0);
    client.on("data", (piece) => {
      left = notingWhole(Buffer.concat([left, piece]), commands);
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    commands,
    url(of) {
      const url = new URL(of);
      url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      return url.href;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

const HEADER_BYTES = 16;
const OP_MSG = 2013;

/** Records the complete messages, and returns the rest. */
function notingWhole(bytes: Buffer, commands: WireCommand[]): Buffer {
  let from = 0;
  while (bytes.length - from >= HEADER_BYTES && bytes.length - from >= bytes.readInt32LE(from)) {
    const end = from + bytes.readInt32LE(from);
    if (bytes.readInt32LE(from + 12) === OP_MSG) commands.push(commandOf(bytes.subarray(from + HEADER_BYTES + 4, end)));
    from = end;
  }
  return bytes.subarray(from);
}

/** Sections of kind 0 contain the command, sections of kind 1 a list of its documents. */
function commandOf(sections: Buffer): WireCommand {
  let from = 0;
  while (sections[from] !== 0) from += 1 + sections.readInt32LE(from + 1);
  const body = sections.subarray(from + 1, from + 1 + sections.readInt32LE(from + 1));
  const command = BSON.deserialize(body);
  const [name = ""] = Object.keys(command);
  return {
    name,
    database: command.$db,
    collection: typeof command[name] === "string" ? command[name] : undefined,
    writeConcern: command.writeConcern,
    inTransaction: command.autocommit === false,
    readPreference: command.$readPreference?.mode,
  };
}
