import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import fc from "fast-check";
import { type SettingSchema, settingList, settingsSchema } from "../src/config/schema.js";
import { readSettings, similarNames } from "../src/config/settings.js";
import { StartError } from "../src/errors.js";
import { retentionMs } from "../src/formats/duration.js";
import { dataFolder } from "./support/data-folder.js";

type Environment = Record<string, string>;

describe("settings", () => {
  let dir: string;
  beforeEach(() => {
    dir = dataFolder();
  });

  const fileWith = (settings: unknown): string => {
    const path = join(dir, "settings.json");
    writeFileSync(path, typeof settings === "string" ? settings : JSON.stringify(settings));
    return path;
  };

  it("have a valid schema", () => {
    expect(new Ajv2020({ strict: false }).validateSchema(settingsSchema)).to.equal(true);
  });

  it("have the values of the shipped file by default", () => {
    const settings = readSettings({});
    expect(settings.http).to.include({ host: "127.0.0.1", port: 8080 });
    expect(settings.entities.url).to.equal("sqlite:");
    expect(settings.limits).to.include({
      body_bytes: 1_048_576,
      batch_series: 100,
      rate_per_key: null,
    });
  });

  it("are suggested for unknown names in the environment that resemble theirs", () => {
    const ours = settingList.map(({ environment }) => environment);
    const others = "CONFIG HOME PATH PWD USER SHELL HOSTNAME LANG TERM NODE_ENV HTTP_PROXY LOGNAME EDITOR TMPDIR TZ";
    const environment = {
      METRIC_RETENTION: "1d",
      LIMIT_BODY_BYTES: "1",
      METRICS_RETENTOIN: "1d",
      data_dir: "/x",
      HOSTS: "x",
      PEPER: "secret",
      PORTS: undefined,
      ...Object.fromEntries([...ours, ...others.split(" ")].map((name) => [name, ""])),
    };
    expect(similarNames(environment)).to.deep.equal([
      { name: "METRIC_RETENTION", nearest: "METRICS_RETENTION" },
      { name: "LIMIT_BODY_BYTES", nearest: "LIMITS_BODY_BYTES" },
      { name: "METRICS_RETENTOIN", nearest: "METRICS_RETENTION" },
      { name: "data_dir", nearest: "DATA_DIR" },
      { name: "HOSTS", nearest: "HOST" },
      { name: "PEPER", nearest: "PEPPER" },
    ]);
  });

  it("of earlier versions that do not exist any more are ignored and named, in a file and in the environment", () => {
    const limits = { buckets: 10, batch_series: 7 };
    const environment = {
      CONFIG: fileWith(JSON.stringify({ limits, recorder: { tick_ms: 5 }, cache: { columns_bytes: 5 } })),
    };
    expect(readSettings(environment).limits).to.deep.equal({ ...readSettings({}).limits, batch_series: 7 });
    const names = {
      ...environment,
      RECORDER_TICK_MS: "5",
      CACHE_RESPONSES_BYTES: "5",
      LIMITS_WRONG_KEYS_PER_MINUTE: "many",
    };
    const retired: string[] = [];
    expect(readSettings(names, (name) => retired.push(name))).to.deep.equal(readSettings(environment));
    expect(retired).to.have.members([
      "CACHE_RESPONSES_BYTES",
      "RECORDER_TICK_MS",
      "LIMITS_WRONG_KEYS_PER_MINUTE",
      "cache.columns_bytes",
      "limits.buckets",
      "recorder.tick_ms",
    ]);
  });

  it("are refused under the former name of the webhook, with its name", () => {
    const setting = { url: "https://a.example", token: "t" };
    for (const environment of [
      { DELETIONS_WEBHOOK: JSON.stringify(setting) },
      { CONFIG: fileWith(JSON.stringify({ deletions: { webhook: setting } })) },
    ])
      expect(() => readSettings(environment)).to.throw(StartError, "has another name now: webhook (WEBHOOK)");
  });

  it("are read from a file with a byte order mark", () => {
    expect(readSettings({ CONFIG: fileWith('\ufeff{"http":{"port":9000}}') }).http.port).to.equal(9000);
  });

  it("in the file that CONFIG names replace the shipped values", () => {
    const settings = readSettings({ CONFIG: fileWith({ http: { port: 9000 }, limits: { batch_series: 8 } }) });
    expect(settings.http).to.include({ host: "127.0.0.1", port: 9000 });
    expect(settings.limits).to.include({ batch_series: 8, batch_messages: 10_000 });
  });

  it("in the environment replace the values of the file", () => {
    const settings = readSettings({
      CONFIG: fileWith({ http: { port: 9000 } }),
      PORT: "9001",
      HOST: "::1",
      DATA_DIR: "/x",
    });
    expect(settings.http).to.include({ host: "::1", port: 9001 });
    expect(settings.data_dir).to.equal("/x");
  });

  it("each have a unique name in the environment", () => {
    const names = settingList.map(({ environment }) => environment);
    expect(new Set(names).size).to.equal(names.length);
  });

  it("accept a retention only if it can be parsed as a duration", () => {
    const kept = settingList.filter(({ name }) => /\.(retention|due)$/.test(name));
    expect(kept).to.have.length(4);
    for (const { schema, name } of kept) {
      fc.assert(
        fc.property(fc.stringMatching(new RegExp(schema.pattern ?? "")), (text) => {
          expect(retentionMs(text), `${name} ${text}`).to.be.a("number");
        }),
      );
    }
  });

  for (const { name, environment, schema } of settingList) {
    it(`accept valid values of ${name}, and refuse invalid ones`, () => {
      const { good, bad } = examplesOf(name, schema);
      for (const value of good) expect(() => readSettings({ [environment]: value }), value).to.not.throw();
      for (const value of bad) expect(refusal({ [environment]: value }), value).to.contain(environment);
    });
  }

  const good: [string, Environment, (settings: ReturnType<typeof readSettings>) => unknown, unknown][] = [
    ["a list of words", { ROLES: "api, worker" }, (s) => s.roles, ["api", "worker"]],
    ["an empty list", { HTTP_CORS_ORIGINS: "" }, (s) => s.http.cors.origins, []],
    ["a duration", { METRICS_RETENTION: "90d" }, (s) => s.metrics.retention, "90d"],
    [
      "a list of objects",
      { DELETIONS_TARGETS: '[{"name":"crm","url":"https://crm.example/x","token":"t"}]' },
      (s) => s.deletions.targets[0]?.name,
      "crm",
    ],
    [
      "a target on this machine without TLS",
      { DELETIONS_TARGETS: '[{"name":"crm","url":"http://127.0.0.1:99/x","token":"t"}]' },
      (s) => s.deletions.targets.length,
      1,
    ],
    [
      "an object",
      { WEBHOOK: '{"url":"https://shop.example/x?y=z","token":"t"}' },
      (s) => s.webhook,
      { url: "https://shop.example/x?y=z", token: "t" },
    ],
    ["no object where null is allowed", { WEBHOOK: "" }, (s) => s.webhook, null],
    [
      "a token of printable ASCII",
      { DELETIONS_TARGETS: '[{"name":"crm","url":"https://crm.example","token":"a b~!=+/."}]' },
      (s) => s.deletions.targets[0]?.token,
      "a b~!=+/.",
    ],
  ];
  for (const [what, environment, read, expected] of good) {
    it(`accept ${what} in the environment`, () => expect(read(readSettings(environment))).to.deep.equal(expected));
  }

  const bad: [string, Environment, RegExp][] = [
    ["a port out of range", { PORT: "65536" }, /^http\.port \(PORT\) is wrong.*0 to 65535/],
    ["a word for a flag", { HTTP_TRUST_PROXY: "yes" }, /^HTTP_TRUST_PROXY is wrong.*true or false/],
    ["a duration without unit", { HISTORY_RETENTION: "90" }, /^history\.retention \(HISTORY_RETENTION\).*h, d or w/],
    [
      "a remote target without TLS",
      { DELETIONS_TARGETS: '[{"name":"a","url":"http://a.example","token":"t"}]' },
      /^deletions\.targets.*0\.url/,
    ],
    ...["a\nb", "a\n", " a", "a\u0000b", "ä"].map((token): [string, Environment, RegExp] => [
      `a token that no header can hold (${JSON.stringify(token)})`,
      { DELETIONS_TARGETS: JSON.stringify([{ name: "a", url: "https://a.example", token }]) },
      /^deletions\.targets.*0\.token/,
    ]),
    [
      "a webhook with an unknown field",
      { WEBHOOK: '{"url":"https://a.example","token":"t","name":"a"}' },
      /^webhook\.name is not a setting. Allowed here: url, token/,
    ],
    [
      "a rule of alerts with an unknown condition",
      { ALERTS: '[{"name":"no orders","condition":"under"}]' },
      /^alerts \(ALERTS\) is wrong: its 0\.condition \("no orders"\) is not an allowed value/,
    ],
    ["a missing file", { CONFIG: "/nowhere/at-all.json" }, /^CONFIG names .* cannot be read/],
  ];
  for (const [what, environment, words] of bad) {
    it(`refuse ${what} in one line that names the allowed values`, () => {
      const message = refusal(environment);
      expect(message).to.match(words);
      expect(message).to.not.contain("\n");
    });
  }

  for (const { environment, name, schema } of settingList) {
    const values = schema.enum ?? schema.items?.enum;
    if (values === undefined) continue;
    it(`refuse an unknown value of ${environment} with the list of allowed values`, () => {
      const subject = schema.enum === undefined ? "entry 1 of it" : "it";
      const list = schema.enum === undefined ? "a list of one or more of" : "one of";
      expect(refusal({ [environment]: "web" })).to.equal(
        `${name} (${environment}) is wrong: ${subject} is not an allowed value. Allowed: ${list} ${values.join(", ")}. ${schema.description}`,
      );
    });
  }

  it("refuse an unknown name, and list the known ones", () => {
    expect(refusal({ CONFIG: fileWith({ limits: { bodybytes: 1 } }) })).to.match(
      /^limits\.bodybytes is not a setting\. Allowed here: .*body_bytes/,
    );
    expect(refusal({ CONFIG: fileWith({ ports: 1 }) })).to.match(
      /^ports is not a setting\. Allowed here: http, data_dir/,
    );
  });

  it("refuse the name __proto__ like any unknown name", () => {
    for (const [text, name] of [
      ['{"__proto__":{"http":{"port":1}}}', "__proto__"],
      ['{"http":{"__proto__":{"port":1}}}', "http.__proto__"],
      ['{"http":{"cors":{"__proto__":1}}}', "http.cors.__proto__"],
      ['{"limits":{"__proto__":null}}', "limits.__proto__"],
    ]) {
      const message = refusal({ CONFIG: fileWith(text) });
      expect(message.startsWith(`${name} is not a setting. Allowed here: `), message).to.equal(true);
    }
  });

  it("refuse a file that is not a JSON object, without quoting it", () => {
    for (const [text, reason] of [
      ["", "JSON: line 1, column 1"],
      ["[]", "a JSON object"],
      ["1", "a JSON object"],
      ['{"pepper": hush}', "JSON: line 1, column 12"],
      ['\ufeff{\n  "log": {},\n}', "JSON: line 3, column 1"],
    ] as const) {
      const path = fileWith(text);
      const message = refusal({ CONFIG: path });
      expect(message).to.equal(`CONFIG names ${path}, which is not ${reason}`);
      expect(message).to.not.contain("hush");
    }
  });

  it("refuse a file in which a group of settings is not an object, and name the group", () => {
    for (const group of ["http", "limits"]) {
      for (const value of [null, [], 1]) {
        expect(refusal({ CONFIG: fileWith({ [group]: value }) })).to.equal(
          `The settings are wrong: ${group} must be object`,
        );
      }
    }
  });

  it("refuse an invalid secret without showing it", () => {
    for (const environment of [
      { PEPPER: "hush-hush" },
      { ADMIN_KEY: "em_a_hush-hush" },
      { ENTITIES_URL: "://u:hush@h/" },
    ]) {
      expect(refusal(environment)).to.not.contain("hush");
    }
  });
});

function refusal(environment: Environment): string {
  try {
    readSettings(environment);
  } catch (error) {
    expect(error).to.be.instanceOf(StartError);
    return (error as Error).message;
  }
  throw new Error("the settings were not refused");
}

/** Settings of text and lists: values in the environment that are taken, and that are refused. */
const texts: Readonly<Record<string, Examples>> = {
  "http.host": { good: ["::1"], bad: [""] },
  "http.cors.origins": {
    good: ["*", "https://a.example,http://b.example:81"],
    bad: ["a.example", "https://a.example/x"],
  },
  data_dir: { good: ["/x"], bad: [""] },
  tables_file: { good: ["/x/tables.json", ""], bad: [] },
  roles: { good: ["api", "worker,api"], bad: ["", "cook", "api,api"] },
  pepper: { good: ["p".repeat(32), ""], bad: ["p".repeat(31)] },
  admin_key: { good: [`em_a_${"k".repeat(22)}`, ""], bad: ["em_a_k", `em__${"k".repeat(22)}`] },
  "entities.url": { good: ["sqlite:/x", "mongodb://h/d"], bad: ["", "/x"] },
  "metrics.url": { good: ["sqlite:/x", "influxdb://h:8086/?org=o&bucket=b"], bad: ["", "/x"] },
  "metrics.token": { good: ["t", ""], bad: ["t".repeat(4097)] },
  "metrics.retention": { good: ["48h", ""], bad: ["0d", "1y", "90"] },
  "jobs.url": { good: ["redis://h"], bad: ["", "h"] },
  "history.retention": { good: ["90d", ""], bad: ["0d", "1y", "90"] },
  "deletions.due": { good: ["30d", "720h"], bad: ["0d", "1y", "30"] },
  "deletions.retention": { good: ["52w", ""], bad: ["0d", "1y", "90"] },
  "deletions.targets": {
    good: ["[]", '[{"name":"a","url":"https://a.example","token":"t"}]'],
    bad: ["crm", "{}", '[{"name":"a b","url":"https://a.example","token":"t"}]'],
  },
  alerts: {
    good: ["[]", '[{"name":"a","series":"stream.a.size","condition":"below","value":1.5}]'],
    bad: ["a", "{}", '[{"name":"a","condition":"under"}]', '[{"condition":"below"}]'],
  },
  hooks: {
    good: [
      "[]",
      '[{"name":"a","url":"https://a.example/x?y","token":"t","segments":["vip"],"fields":[],"from":"members"}]',
    ],
    bad: [
      "crm",
      '[{"name":"a b","url":"https://a.example","token":"t","segments":["*"]}]',
      '[{"name":"a","url":"http://a.example","token":"t","segments":["*"]}]',
      '[{"name":"a","url":"https://a.example","token":"t","segments":[]}]',
      '[{"name":"a","url":"https://a.example","token":"t","segments":["*"],"from":"then"}]',
    ],
  },
  webhook: {
    good: ["", '{"url":"https://a.example","token":"t"}'],
    bad: ["a", "[]", "{}", '{"url":"ftp://a.example","token":"t"}'],
  },
};

interface Examples {
  readonly good: readonly string[];
  readonly bad: readonly string[];
}

/**
 * Returns for a number its bounds and the values beyond, for words all of them, otherwise the texts of the table above.
 */
function examplesOf(name: string, { type, enum: words, minimum = 0, maximum = 0 }: SettingSchema): Examples {
  if (words !== undefined) return { good: words, bad: ["", "web"] };
  if (type === "boolean") return { good: ["true", "false"], bad: ["", "yes"] };
  const types = [type].flat();
  if (!types.includes("integer")) return texts[name] as Examples;
  const bad = [String(minimum - 1), String(maximum + 1), "x", "1.5"];
  const given = [String(minimum), String(maximum)];
  return types.includes("null") ? { good: [...given, ""], bad } : { good: given, bad: [...bad, ""] };
}
