import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** An HTTP proxy before a server, which takes note of what goes through. */
export interface RecordingProxy {
  /** Its own URL. */
  readonly url: string;
  /** The requests so far, in order. */
  readonly requests: RecordedRequest[];
  close(): Promise<void>;
}

/** Opens a proxy on a free port of this machine to the server at a URL. */
export async function openRecordingProxy(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const { method = "", url: path = "", headers } = incoming;
    requests.push({ method, path, body: body.toString() });
    const forwarded = request(new URL(path, target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    forwarded.end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
