import { request } from "node:http";
import { httpServer } from "./http-server.js";

/** An HTTP proxy on this machine that drops the response to each fifth POST after the server has sent it. */
export interface DroppingProxy {
  readonly url: string;
  /** Number of dropped responses. */
  readonly dropped: number;
  close(): Promise<void>;
}

const EACH = 5;

export async function openDroppingProxy(target: string): Promise<DroppingProxy> {
  let posts = 0;
  let dropped = 0;
  const { url, close } = await httpServer((req, res) => {
    const isDropped = req.method === "POST" && ++posts % EACH === 0;
    const { method = "GET", headers, url = "/" } = req;
    const forwarded = request(new URL(url, target), { method, headers, agent: false }, (answer) => {
      if (!isDropped) {
        res.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(res);
        return;
      }
      dropped += 1;
      answer.resume().once("end", () => req.socket.destroy());
    });
    forwarded.on("error", () => req.socket.destroy());
    req.pipe(forwarded);
  });
  return {
    url,
    get dropped() {
      return dropped;
    },
    close,
  };
}
