import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Paths of PEM files that are valid for two days. */
export interface Certificates {
  /** The authority that has signed the certificate of the servers. */
  readonly authority: string;
  /** One that has signed nothing. */
  readonly otherAuthority: string;
  /** Certificate of servers on this machine: 127.0.0.1 and localhost. */
  readonly certificate: string;
  readonly key: string;
  /** Certificate and key in one file. */
  readonly both: string;
}

/** Makes two authorities, and a certificate that the first one has signed, with the program openssl. */
export function makeCertificates(dir: string): Certificates {
  const file = (name: string) => join(dir, name);
  const made = (name: string, ...args: string[]) => {
    const files = ["-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    execFileSync("openssl", ["req", "-x509", ...kind, ...files, "-subj", `/CN=${name}`, ...args], { stdio: "pipe" });
    return file(`${name}.pem`);
  };
  const authority = made("authority");
  const otherAuthority = made("another-authority");
  const certificate = made(
    "server",
    ...["-CA", authority, "-CAkey", file("authority.key")],
    ...["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"],
  );
  const key = file("server.key");
  const both = file("both.pem");
  writeFileSync(both, readFileSync(certificate, "utf8") + readFileSync(key, "utf8"), { mode: 0o600 });
  return { authority, otherAuthority, certificate, key, both };
}
