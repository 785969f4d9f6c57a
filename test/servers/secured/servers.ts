import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { dataFolder } from "../../support/data-folder.js";
import { freePort } from "../../support/free-port.js";
import { type Program, startProgram } from "../../support/program.js";
import { testPepper } from "../../support/servers.js";
import { type Certificates, makeCertificates } from "./certificates.js";
import { type SecuredMongod, startSecuredMongod } from "./mongod.js";

/** The three servers, each of which asks for a password or a token and takes TLS connections alone. */
export interface SecuredServers {
  readonly certificates: Certificates;
  readonly mongod: SecuredMongod;
  readonly influx: SecuredInflux;
  readonly redis: SecuredRedis;
  /** Settings of a service whose profiles are in the database of this URL. */
  environment(entitiesUrl: string): Record<string, string>;
  close(): Promise<void>;
}

/** Starts them with new certificates. */
export async function startSecuredServers(): Promise<SecuredServers> {
  const dir = dataFolder();
  const certificates = makeCertificates(dir);
  const begun = await Promise.allSettled([
    startSecuredMongod(dir, certificates),
    startSecuredInflux(dir, certificates),
    startSecuredRedis(dir, certificates),
  ]);
  const close = async () => {
    for (const one of begun) if (one.status === "fulfilled") await one.value.program.kill();
  };
  const [mongod, influx, redis] = begun.map((one) => (one.status === "fulfilled" ? one.value : one.reason));
  const failed = begun.find(({ status }) => status === "rejected");
  if (failed !== undefined) {
    await close();
    throw (failed as PromiseRejectedResult).reason;
  }
  return {
    certificates,
    mongod,
    influx,
    redis,
    environment: (entitiesUrl) => ({
      PEPPER: testPepper,
      ENTITIES_URL: entitiesUrl,
      METRICS_URL: influx.url,
      INFLUX_TOKEN: influx.token,
      JOBS_URL: redis.url("secured"),
      NODE_EXTRA_CA_CERTS: certificates.authority,
      LOG_LEVEL: "warn",
    }),
    close,
  };
}

/** A server that takes TLS connections alone. */
export interface SecuredServer {
  /** Address in messages of the service. */
  readonly host: string;
  readonly program: Program;
}

export interface SecuredRedis extends SecuredServer {
  /** Returns a URL for keys with this prefix; the default password is the server's. */
  url(prefix: string, password?: string): string;
}

/** Starts the program that TEST_REDIS_SERVER names, with a password. */
async function startSecuredRedis(dir: string, { authority, certificate, key }: Certificates): Promise<SecuredRedis> {
  const port = await freePort();
  const password = randomBytes(12).toString("hex");
  const program = await startProgram(
    process.env.TEST_REDIS_SERVER ?? "",
    [
      ...["--bind", "127.0.0.1", "--port", "0", "--tls-port", String(port), "--dir", dir],
      ...[
        "--tls-cert-file",
        certificate,
        "--tls-key-file",
        key,
        "--tls-ca-cert-file",
        authority,
        "--tls-auth-clients",
        "no",
      ],
      ...["--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction", "--requirepass", password],
    ],
    () => takesConnections(port, authority),
  );
  const host = `127.0.0.1:${port}`;
  return { host, program, url: (prefix, own = password) => `rediss://:${own}@${host}?prefix=${prefix}` };
}

function takesConnections(port: number, authority: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, ca: readFileSync(authority) });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("secureConnect", () => end(true)).once("error", () => end(false));
  });
}

export interface SecuredInflux extends SecuredServer {
  /** Name of its bucket. */
  readonly url: string;
  /** May read and write the bucket, and nothing else. */
  readonly token: string;
}

const ORG = "secured";
const BUCKET = "metrics";

/** Starts the program that TEST_INFLUXD names, with one bucket. */
async function startSecuredInflux(dir: string, { authority, certificate, key }: Certificates): Promise<SecuredInflux> {
  const port = await freePort();
  const ca = readFileSync(authority);
  const admin = randomBytes(12).toString("hex");

  /** Asks over HTTPS; rejects unless the status is one of success. */
  function ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Token ${admin}`, "content-type": "application/json" };
      const asked = request({ host: "127.0.0.1", port, method, path, ca, headers }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", () => {
          if ((answer.statusCode ?? 0) < 300) resolve(JSON.parse(text));
          else reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`));
        });
      });
      asked.on("error", reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  const folder = join(dir, "influx");
  mkdirSync(folder);
  const program = await startProgram(
    process.env.TEST_INFLUXD ?? "",
    [
      ...["--http-bind-address", `127.0.0.1:${port}`, "--reporting-disabled", "--log-level", "warn"],
      ...["--tls-cert", certificate, "--tls-key", key],
      ...["--bolt-path", join(folder, "bolt"), "--sqlite-path", join(folder, "sqlite")],
      ...["--engine-path", join(folder, "engine")],
    ],
    async () => (await ask("GET", "/health")).status === "pass",
  );
  try {
    const set = await ask("POST", "/api/v2/setup", {
      username: "admin",
      password: admin,
      org: ORG,
      bucket: BUCKET,
      token: admin,
    });
    const { org, bucket } = set as { org: { id: string }; bucket: { id: string } };
    const resource = { type: "buckets", id: bucket.id, orgID: org.id };
    const permissions = ["read", "write"].map((action) => ({ action, resource }));
    const { token } = await ask("POST", "/api/v2/authorizations", { orgID: org.id, permissions });
    const host = `127.0.0.1:${port}`;
    return { host, program, token: token as string, url: `influxdbs://${host}/?org=${ORG}&bucket=${BUCKET}` };
  } catch (error) {
    await program.kill();
    throw error;
  }
}
