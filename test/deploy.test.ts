import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect } from "chai";
import { dataFolder } from "./support/data-folder.js";
import { freePort } from "./support/free-port.js";
import { pointOf } from "./support/requests.js";
import { adminKey, startService } from "./support/service.js";
import { root } from "./support/source-tree.js";
import { until } from "./support/until.js";

const deploy = join(root, "deploy");
const read = (path: string) => readFileSync(join(deploy, path), "utf8");

/** Whether a program is on this machine; where it is not, the output of the tests names it. */
const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;

function run(program: string, args: readonly string[], environment: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: deploy,
    encoding: "utf8",
    env: { ...process.env, ...environment },
  });
  expect(status, stdout + stderr).to.equal(0);
  return stdout + stderr;
}

const everySeries = `/federate?match[]=${encodeURIComponent('{__name__=~"entity_metrics_.+"}')}`;

/** A point of every metric of `/federate`, in the slot whose values are shown at `now`. */
function currentPoints(now: number) {
  const ofExperiences = ["size", "potentialreach", "actualreach", "converted"];
  return [
    pointOf("stream", "web", 3, now - 3_600_000),
    pointOf("segment", "beta", 3, now),
    ...ofExperiences.flatMap((type) => [
      pointOf("experience", "welcome", 3, now, type),
      pointOf("experiencegroup", "onboarding", 3, now, type),
    ]),
  ];
}

describe("the files in deploy", () => {
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });

  it("allow a start in Kubernetes to take an hour, as one that repeats deletions may", () => {
    for (const name of ["embedded", "servers"]) {
      const probes = read(`kubernetes/${name}.yaml`).match(/startupProbe:\n(?: {12}.*\n)+/g) ?? [];
      const containers = read(`kubernetes/${name}.yaml`).match(/containers:/g);
      expect(probes, name).to.have.length(containers?.length ?? 0);
      for (const probe of probes) {
        const number = (field: string) => Number(new RegExp(`${field}: (\\d+)`).exec(probe)?.[1]);
        expect(number("periodSeconds") * number("failureThreshold"), name).to.be.at.least(3_600);
      }
    }
  });

  it("send requests to every process that is alive, also if it is not ready, as it still serves reads", () => {
    for (const name of ["caddy/Caddyfile", "kubernetes/embedded.yaml", "kubernetes/servers.yaml"]) {
      const paths = [...read(name).matchAll(/(?:health_uri|path:) (\/\w+)/g)].map(([, path]) => path);
      expect([...new Set(paths)], name).to.deep.equal(["/health"]);
    }
  });

  describe("systemd", () => {
    if (!has("systemd-analyze")) {
      it("not run: systemd-analyze was not found");
      return;
    }

    const units = readdirSync(join(deploy, "systemd"));

    /** The units, changed to the programs of this machine. */
    const prepared = () => {
      mkdirSync(join(dir, "dist", "commands"), { recursive: true });
      return units.map((name) => {
        const text = read(`systemd/${name}`).replaceAll("/usr/bin/node", process.execPath);
        writeFileSync(join(dir, name), text.replaceAll("/opt/entity-metrics", dir));
        return join(dir, name);
      });
    };

    it("reads every unit without a warning", () => {
      expect(run("systemd-analyze", ["verify", "--man=no", ...prepared()]).trim()).to.equal("");
    });

    it("rates the exposure of the service as OK or better", () => {
      const service = prepared().find((path) => path.endsWith("entity-metrics.service")) ?? "";
      run("systemd-analyze", ["security", "--offline=true", "--threshold=20", service]);
    });
  });

  describe("proxies", () => {
    /** Writes the file of a proxy in front of `upstream`, with a port and a certificate of this machine. */
    const proxies = {
      caddy(port: number, upstream: string) {
        const text = read("caddy/Caddyfile")
          .replace(/^\{$/m, "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects")
          .replace(/^metrics\.example\.com \{$/m, `localhost:${port} {\n\ttls internal`)
          .replace("127.0.0.1:8080 {", `${upstream} {`);
        writeFileSync(join(dir, "Caddyfile"), text);
        const args = ["--config", join(dir, "Caddyfile")];
        return {
          check: ["validate", ...args],
          start: ["run", ...args],
          authority: "caddy/pki/authorities/local/root.crt",
        };
      },
      nginx(port: number, upstream: string) {
        const certificate = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost";
        const files = ["-keyout", join(dir, "privkey.pem"), "-out", join(dir, "fullchain.pem")];
        run("openssl", ["req", ...certificate.split(" "), "-addext", "subjectAltName=DNS:localhost", ...files]);
        const text = read("nginx/entity-metrics.conf")
          .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
          .replaceAll(/\/etc\/letsencrypt\/live\/[^/]+|\/var\/log\/nginx/g, dir)
          .replaceAll("127.0.0.1:8080", upstream);
        const temporary = ["client_body", "proxy", "fastcgi", "scgi", "uwsgi"].map(
          (name) => `${name}_temp_path ${dir};`,
        );
        const main = `daemon off; pid ${dir}/nginx.pid; error_log stderr; events {}\nhttp { ${temporary.join(" ")}\n${text} }`;
        writeFileSync(join(dir, "nginx.conf"), main);
        const args = ["-e", "stderr", "-c", join(dir, "nginx.conf")];
        return { check: ["-t", ...args], start: args, authority: "fullchain.pem" };
      },
    };

    async function startProxy(name: keyof typeof proxies, upstream: string) {
      const port = await freePort();
      const { check, start, authority } = proxies[name](port, upstream);
      const environment = { XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir, HOME: dir };
      run(name, check, environment);
      const proxy: ChildProcess = spawn(name, start, {
        env: { ...process.env, ...environment },
        stdio: ["ignore", "ignore", "pipe"],
      });
      let errors = "";
      proxy.stderr?.on("data", (chunk) => {
        errors += chunk;
      });
      const logFiles = ["entity-metrics.log", "entity-metrics-error.log"].map((file) => join(dir, file));
      const log = () => [errors, ...logFiles.filter(existsSync).map((file) => readFileSync(file, "utf8"))].join("\n");
      const stop = async () => {
        const closed = once(proxy, "close");
        proxy.kill();
        await closed;
      };
      const ca = () => readFileSync(join(dir, authority));
      const acceptsTls = () =>
        new Promise<boolean>((resolve) => {
          const socket = connect({ port, host: "localhost", ca: ca(), servername: "localhost" }, () => {
            socket.destroy();
            resolve(true);
          }).on("error", () => resolve(false));
        });
      try {
        await until("it has a certificate", async () => existsSync(join(dir, authority)) && (await acceptsTls()));
      } catch (error) {
        await stop();
        throw new Error(`${error}\n${log()}`);
      }
      return { port, ca: ca(), log, stop };
    }

    for (const name of Object.keys(proxies) as (keyof typeof proxies)[]) {
      it(`${name} forwards requests and lines over TLS, and its log contains no identity and no key`, async function () {
        if (!has(name)) {
          process.stderr.write(`${name} was not found: its file is not tried\n`);
          this.skip();
        }
        const service = await startService();
        const proxy = await startProxy(name, new URL(service.url).host);
        try {
          const ask = (method: string, path: string, type: string) =>
            request({
              port: proxy.port,
              ca: proxy.ca,
              servername: "localhost",
              host: "localhost",
              method,
              path,
              headers: { authorization: adminKey, "content-type": type },
            });
          const body = async (sent: ReturnType<typeof ask>) => {
            const [response] = await once(sent, "response");
            let text = "";
            for await (const chunk of response) text += chunk;
            return { status: response.statusCode as number, text };
          };
          const lines = ask("POST", "/collect/json/web", "application/x-ndjson");
          lines.write('{"_uid":"ada-in-a-path","city":"London"}\n');
          lines.end('{"_uid":"u-2","city":"Oslo"}\n');
          const { status, text } = await body(lines);
          expect(status, text).to.equal(200);
          expect(JSON.parse(text).data).to.deep.include({ message_count: 2, rejected_count: 0 });
          const seen = ask("GET", "/api/entity/user/_uid/ada-in-a-path", "application/json");
          seen.end();
          expect(JSON.parse((await body(seen)).text).data).to.deep.include({ _uid: "ada-in-a-path", city: "London" });
          // More lines than the service reads before it answers.
          const deletions = ask("POST", "/api/deletion", "application/x-ndjson");
          deletions.end('{"field":"_uid","value":"ada-in-a-path"}\n'.repeat(2_500));
          expect((await body(deletions)).text).to.contain('"accepted":2500,"rejected":0');
          await service.stop();
          const failed = ask("GET", "/api/entity/user/_uid/ada-in-a-path", "application/json");
          failed.end();
          expect((await body(failed)).status).to.be.within(502, 503);
          await until("the requests are in the log", () => /"status":50[23]| 50[23] /.test(proxy.log()));
          expect(proxy.log()).to.not.contain("ada-in-a-path");
          expect(proxy.log()).to.not.contain(adminKey);
        } finally {
          await proxy.stop();
        }
      });
    }
  });

  describe("prometheus", () => {
    if (!has("promtool")) {
      it("not run: promtool was not found");
      return;
    }

    it("accepts the configuration, the rules, /metrics and /federate as read with the key of the documented step", async function () {
      this.timeout(120_000);
      const documented = /^```sh run=prometheus\n([\s\S]*?)^```$/m;
      const step = documented.exec(readFileSync(join(root, "docs/prometheus.md"), "utf8"))?.[1] ?? "";
      // A folder that looks like the project's, so that the key stays out of it.
      for (const name of ["package.json", "scripts", "config", "dist", ".npmrc"])
        symlinkSync(join(root, name), join(dir, name));
      cpSync(join(deploy, "prometheus"), join(dir, "deploy/prometheus"), {
        recursive: true,
        filter: (path) => !path.endsWith(".key"),
      });
      const service = await startService();
      const env = { ...process.env, DATA_DIR: service.dir };
      const { status, stdout, stderr } = spawnSync("sh", ["-ec", step], { cwd: dir, env, encoding: "utf8" });
      expect(status, stdout + stderr).to.equal(0);
      expect(stdout).to.match(/SUCCESS: .*prometheus\.yml is valid/);
      const file = join(dir, "deploy/prometheus/entity-metrics.key");
      expect(statSync(file).mode & 0o777).to.equal(0o600);
      const key = readFileSync(file, "utf8").trim();
      await service.fetch("/api/metric/points", { method: "POST", json: currentPoints(Date.now()) });
      for (const path of ["/metrics", everySeries]) {
        const scraped = await service.fetch(path, { key: `Bearer ${key}` });
        const input = await scraped.text();
        expect(scraped.status, input).to.equal(200);
        const checked = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
        expect([checked.status, checked.stderr, checked.stdout], path).to.deep.equal([0, "", ""]);
      }
    });

    it("fires the alerts that the tests of the rules expect", () => {
      const tests = ["rules.test.yml", "series-rules.test.yml"].map((name) => join(deploy, "prometheus", name));
      run("promtool", ["test", "rules", ...tests]);
    });
  });

  describe("grafana", () => {
    interface Target {
      readonly url?: string;
      readonly expr?: string;
      readonly root_selector?: string;
      readonly columns?: readonly { readonly selector: string }[];
    }
    interface Dashboard {
      readonly panels: readonly { readonly targets: readonly Target[] }[];
      readonly templating: {
        readonly list: readonly { readonly query: { readonly infinityQuery?: Target; readonly query?: string } }[];
      };
    }
    const dashboard = (name: string) => JSON.parse(read(`grafana/dashboards/${name}.json`)) as Dashboard;
    const targetsOf = ({ panels, templating }: Dashboard) => [
      ...panels.flatMap(({ targets }) => targets),
      ...templating.list.flatMap(({ query: { infinityQuery } }) => infinityQuery ?? []),
    ];

    it("requests series that the service returns, with all columns of the panels", async () => {
      const now = Date.UTC(2026, 0, 2, 12);
      const service = await startService({}, { clock: () => now });
      const hour = 3_600_000;
      await service.fetch("/collect/json/web", { method: "POST", json: { _uid: "u-1", segments: ["beta", "news"] } });
      await service.fetch("/api/experience/welcome", { method: "PUT", json: { audience: "news", goal: "beta" } });
      const points = [
        ["stream", "web", "size"],
        ["segment", "beta", "size"],
        ["experience", "welcome", "potentialreach"],
        ["experience", "welcome", "actualreach"],
      ].map(([dimension, dimension_id, dimension_type]) => ({
        dimension,
        dimension_id,
        dimension_type,
        ts: now - 4 * hour,
        value: 3,
      }));
      const written = await service.fetch("/api/metric/points", { method: "POST", json: points });
      expect(written.status, await written.text()).to.equal(200);
      const given: Record<string, string> = {
        __from: String(now - 24 * hour),
        __to: String(now),
        interval: "2h",
        "stream:percentencode": "web",
        "segment:percentencode": "beta",
        "experience:percentencode": "welcome",
      };
      const targets = targetsOf(dashboard("series"));
      expect(targets).to.have.length(8);
      for (const { url = "", root_selector = "", columns = [] } of targets) {
        const path = url.replace(/\$\{(.+?)\}/g, (_, name: string) => given[name] ?? `no value for ${name}`);
        const answer = await service.fetch(path);
        expect(answer.status, path).to.equal(200);
        const rows = root_selector
          .split(".")
          .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], await answer.json());
        expect(rows, path).to.be.an("array").that.is.not.empty;
        for (const { selector } of columns) expect((rows as object[])[0], path).to.have.property(selector);
      }
    });

    it("requests only metrics that /metrics or /federate has, as the alerts for series do", async () => {
      const now = Date.UTC(2026, 0, 2, 12, 30);
      const service = await startService({ roles: ["api"] }, { clock: () => now });
      await service.fetch("/api/metric/points", { method: "POST", json: currentPoints(now) });
      const series = await (await service.fetch(everySeries)).text();
      await service.stop();
      const ofWorkers = await startService();
      const text = series + (await (await ofWorkers.fetch("/metrics")).text());
      await ofWorkers.stop();
      const served = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = ""]) => name));
      const queries = ["processes", "series-prometheus"].flatMap((name) => [
        ...targetsOf(dashboard(name)).map(({ expr = "" }) => expr),
        ...dashboard(name).templating.list.map(({ query }) => query.query ?? ""),
      ]);
      for (const text of [...queries, read("prometheus/series-rules.yml")]) {
        const names = [...text.matchAll(/\b(entity_metrics_|process_|nodejs_)\w+/g)].map(([name]) => name);
        for (const name of names) expect(served, text).to.include(name.replace(/_(bucket|count|sum)$/, ""));
        if (!text.includes("ALERTS")) expect(names, text).to.not.deep.equal([]);
      }
    });
  });
});
