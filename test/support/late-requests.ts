import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { endsWithTest } from "./ends-with-test.js";

/**
 * A proxy in front of a server that may deliver requests late: the network keeps them although their client has given
 * up and closed its connection.
 */
export interface LateRequests {
  /** The same URL, by way of the proxy. */
  url(of: string): string;
  /** Number of pieces of requests that are kept. */
  readonly kept: number;
  /** Keeps each request from now on whose bytes contain one of these texts. */
  hold(texts: readonly string[]): void;
  /** Delivers the requests that were kept, and keeps no more. Resolves when the server has answered each. */
  deliver(): Promise<void>;
  close(): Promise<void>;
}

/** Opens one on a free port of this machine to a server, given by its URL. */
export async function openLateRequests(target: string): Promise<LateRequests> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let held: readonly string[] = [];
  let kept: { readonly client: Socket; readonly server: Socket; readonly request: Buffer }[] = [];

  const proxy = createServer((client) => {
    const server = createConnection({ host: hostname, port: Number(port) });
    let isLate = false;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    client.on("data", (request) => {
      isLate ||= held.some((text) => request.includes(text));
      if (isLate) kept.push({ client, server, request });
      else server.write(request);
    });
    client.on("close", () => {
      if (!isLate) server.destroy();
    });
    server.on("data", (answer) => client.write(answer));
    server.on("close", () => client.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");

  return {
    url(of) {
      const url = new URL(of);
      url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      return url.href;
    },
    get kept() {
      return kept.length;
    },
    hold(texts) {
      held = texts;
    },
    async deliver() {
      held = [];
      const late = kept;
      kept = [];
      await Promise.all(
        late.map(async ({ client, server, request }) => {
          client.destroy();
          const answered = once(server, "data");
          server.write(request);
          await answered;
        }),
      );
    },
    close: endsWithTest(async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, "close");
    }),
  };
}
