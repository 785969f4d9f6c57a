import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Document, MongoClient } from "mongodb";
import { freePort } from "../../support/free-port.js";
import { type Program, startProgram } from "../../support/program.js";
import { until } from "../../support/until.js";
import type { Certificates } from "./certificates.js";

/** A replica set of one member that asks for a user and a password, and takes TLS connections alone. */
export interface SecuredMongod {
  /** Address in messages of the service. */
  readonly host: string;
  readonly program: Program;
  /** URL of a database, for a user of the database `admin` or for none. It does not name the authority. */
  url(database: string, user?: User): string;
  /** Runs a command on a database, as root. */
  command(database: string, command: Document): Promise<Document>;
  /** Asks as root. */
  ask<T>(question: (client: MongoClient) => Promise<T>): Promise<T>;
}

export interface User {
  readonly name: string;
  readonly password: string;
}

const SET = "secured";

/** Starts the program that TEST_MONGOD names, on an empty folder. */
export async function startSecuredMongod(dir: string, certificates: Certificates): Promise<SecuredMongod> {
  const port = await freePort();
  const host = `127.0.0.1:${port}`;
  const root: User = { name: "root", password: randomBytes(12).toString("hex") };
  mkdirSync(join(dir, "db"));
  const keyFile = join(dir, "key-file");
  writeFileSync(keyFile, randomBytes(48).toString("base64"), { mode: 0o600 });

  const url = (database: string, user?: User) => {
    const who = user === undefined ? "" : `${encodeURIComponent(user.name)}:${encodeURIComponent(user.password)}@`;
    const options = user === undefined ? "" : "&authSource=admin";
    return `mongodb://${who}${host}/${database}?tls=true&replicaSet=${SET}${options}`;
  };

  async function asked<T>(where: string, question: (client: MongoClient) => Promise<T>, direct = false): Promise<T> {
    const client = new MongoClient(where, {
      tlsCAFile: certificates.authority,
      serverSelectionTimeoutMS: 5000,
      ...(direct ? { directConnection: true } : {}),
    });
    try {
      return await question(client);
    } finally {
      await client.close();
    }
  }

  const hello = (client: MongoClient) => client.db("admin").command({ hello: 1 });
  const program = await startProgram(
    process.env.TEST_MONGOD ?? "",
    [
      ...["--bind_ip", "127.0.0.1", "--port", String(port), "--nounixsocket", "--quiet"],
      ...["--dbpath", join(dir, "db"), "--logpath", join(dir, "mongod.log")],
      ...["--replSet", SET, "--oplogSize", "100", "--wiredTigerCacheSizeGB", "0.25"],
      ...["--auth", "--keyFile", keyFile],
      ...["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificates.both],
      ...["--tlsCAFile", certificates.authority, "--tlsAllowConnectionsWithoutCertificates"],
      ...["--setParameter", "diagnosticDataCollectionEnabled=false"],
    ],
    () => asked(url("admin"), hello, true).then(() => true),
  );
  const ask = <T>(question: (client: MongoClient) => Promise<T>) => asked(url("admin", root), question);

  try {
    // Until there is a user, a client on the same machine may initiate the set and create the first user.
    await asked(
      url("admin"),
      async (client) => {
        const members = [{ _id: 0, host }];
        await client.db("admin").command({ replSetInitiate: { _id: SET, members } });
        await until("there is a primary", async () => (await hello(client)).isWritablePrimary === true, 30_000);
        await client.db("admin").command({ createUser: root.name, pwd: root.password, roles: ["root"] });
      },
      true,
    );
  } catch (error) {
    await program.kill();
    throw error;
  }
  return {
    host,
    program,
    url,
    ask,
    command: (database, command) => ask((client) => client.db(database).command(command)),
  };
}
