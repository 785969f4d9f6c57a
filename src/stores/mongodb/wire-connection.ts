import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { MongoNetworkError, MongoNetworkTimeoutError } from "mongodb";

interface CommandOptions {
  readonly signal?: AbortSignal;
  readonly socketTimeoutMS?: number;
}

/** Members of the driver's connection class, which the driver does not export. */
type DriverConnection = new (
  socket: Socket,
  options: object,
) => {
  readonly socketTimeoutMS: number;
  writeCommand(command: unknown, options: CommandOptions): Promise<void>;
  command(namespace: unknown, command: unknown, options?: CommandOptions, responseType?: unknown): Promise<unknown>;
  /** Closes the connection; running commands reject with this error. */
  onError(error: Error): void;
};

const { Connection } = createRequire(import.meta.url)("mongodb/lib/cmap/connection.js") as {
  readonly Connection: DriverConnection;
};
for (const name of ["command", "writeCommand", "onError"] as const) {
  if (typeof Connection?.prototype[name] === "function") continue;
  throw new Error(`This version of the package mongodb has no Connection.${name}, which the service uses`);
}

/** The driver closes a silent connection first, as it knows whether a response has just arrived. */
const AFTER_SILENCE_MS = 50;

/**
 * A connection of the driver whose write rejects with a `MongoNetworkError` if its socket closes or fails. The driver
 * alone waits for `drain` or `error`, and a closed socket emits neither: the write never settles, and its connection
 * never returns to the pool. The driver also rethrows a socket error unchanged, and then neither clears the pool nor
 * repeats the operation. `socketTimeoutMS` limits a whole command, not only the silence between two bytes of its
 * response.
 */
export class WireConnection extends Connection {
  readonly #socket: Socket;

  constructor(socket: Socket, options: object) {
    super(socket, options);
    this.#socket = socket;
  }

  override async command(
    namespace: unknown,
    command: unknown,
    options: CommandOptions = {},
    responseType?: unknown,
  ): Promise<unknown> {
    const ms = options.socketTimeoutMS ?? this.socketTimeoutMS;
    if (ms === 0) return super.command(namespace, command, options, responseType);
    const timer = setTimeout(() => {
      this.onError(new MongoNetworkTimeoutError(`The command was not answered within ${ms} ms`));
    }, ms + AFTER_SILENCE_MS);
    try {
      return await super.command(namespace, command, options, responseType);
    } finally {
      clearTimeout(timer);
    }
  }

  override async writeCommand(command: unknown, options: CommandOptions): Promise<void> {
    const socket = this.#socket;
    let onClose = () => {};
    const closed = new Promise<never>((_, reject) => {
      onClose = () => reject(new MongoNetworkError("The connection was closed during a write"));
    });
    socket.once("close", onClose);
    try {
      await Promise.race([super.writeCommand(command, options), closed]);
    } catch (error) {
      if (error !== socket.errored) throw error;
      throw new MongoNetworkError("The connection failed during a write", { cause: socket.errored as Error });
    } finally {
      socket.off("close", onClose);
    }
  }
}
