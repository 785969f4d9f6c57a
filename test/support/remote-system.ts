import { text } from "node:stream/consumers";
import { httpServer } from "./http-server.js";

/** A call that the system received. */
export interface Call {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: {
    readonly request_id: string;
    readonly table: string;
    readonly identities: readonly { readonly field: string; readonly value: string }[];
    readonly cut_off: number;
  };
}

/** Faults in place of the right response. */
export type Trouble = "status" | "silence" | "redirect" | "flood" | "no-json" | "reset" | "never-clean";

/** Another system that holds e-mail addresses and takes requests to erase them. */
export interface RemoteSystem {
  readonly url: string;
  readonly holds: Set<string>;
  readonly calls: Call[];
  trouble: Trouble | undefined;
  close(): Promise<void>;
}

export async function remoteSystem(): Promise<RemoteSystem> {
  const holds = new Set<string>();
  const calls: Call[] = [];
  const { url, close } = await httpServer((request, response) => {
    void text(request).then((sent) => {
      const body = JSON.parse(sent) as Call["body"];
      const path = request.url ?? "";
      calls.push({ path, authorization: request.headers.authorization, body });
      if (system.trouble === "silence") return;
      if (system.trouble === "reset") return void request.socket.destroy();
      if (system.trouble === "status") return void response.writeHead(503).end("{}");
      if (system.trouble === "redirect") return void response.writeHead(307, { location: "/elsewhere" }).end();
      if (system.trouble === "flood") return void response.writeHead(200).end("x".repeat(1_000_000));
      if (system.trouble === "no-json") return void response.writeHead(200).end("<p>fine</p>");
      const values = body.identities.map(({ value }) => value);
      if (path.endsWith("/erase")) for (const value of values) holds.delete(value);
      const clean = system.trouble !== "never-clean" && !values.some((value) => holds.has(value));
      response.writeHead(200, { "content-type": "application/json" });
      response.end(path.endsWith("/verify") ? JSON.stringify({ clean }) : "");
    });
  });
  const system: RemoteSystem = {
    url: `${url}/hooks`,
    holds,
    calls,
    trouble: undefined,
    close,
  };
  return system;
}
