import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { endsWithTest } from "./ends-with-test.js";

/** A server on a free port of this machine; one that a test has started is closed after it. */
export interface HttpServer {
  readonly url: string;
  /** Cuts open connections, too. */
  close(): Promise<void>;
}

export async function httpServer(listener: RequestListener): Promise<HttpServer> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: endsWithTest(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }),
  };
}
