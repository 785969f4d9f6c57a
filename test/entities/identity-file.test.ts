import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { IdentityFile, IdentityFileOptions } from "../../src/entities/identity-file/identity-line.js";
import { IdentityReader, identityLines } from "../../src/entities/identity-file/identity-reader.js";
import { tablesOf } from "../../src/entities/profile/entity-tables.js";
import { root } from "../support/source-tree.js";

const tables = tablesOf(JSON.parse(readFileSync(join(root, "config/tables.json"), "utf8")));

/** Identities as `line field=value`, and refused lines as `line code`. */
interface Read {
  readonly sent: string[];
  readonly refused: string[];
}

async function read(
  content: string | Buffer,
  options: IdentityFileOptions & Partial<IdentityFile> = {},
  chunkBytes = Number.POSITIVE_INFINITY,
): Promise<Read & { readonly reader: IdentityReader }> {
  const reader = new IdentityReader({ name: "people", tables, ...options, options });
  const sent: string[] = [];
  const refused: string[] = [];
  for await (const lines of identityLines(chunksOf(Buffer.from(content as string), chunkBytes), reader)) {
    for (const line of lines) {
      if ("issue" in line) refused.push(`${line.number} ${line.issue.code}`);
      else {
        const { table, field, value } = line.item;
        sent.push(`${line.number} ${table === "user" ? "" : `${table}.`}${field}=${value}`);
      }
    }
  }
  return { sent, refused, reader };
}

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");

describe("a file of identities", () => {
  const ann = "email=ann@example.com";
  const forms: [
    name: string,
    content: string | Buffer,
    options: IdentityFileOptions,
    sent: string[],
    refused: string[],
  ][] = [
    ["CSV of Excel with a byte order mark", "\ufeffemail,name\r\nann@example.com,Ann\r\n", {}, [`2 ${ann}`], []],
    ["CSV with semicolons", "Name;EMAIL \r\nAnn;ann@example.com\r\n", {}, [`2 ${ann}`], []],
    ["a German header", "Vorname;E-Mail;Straße\nAnn;ann@example.com;Am Markt 1, 2\n", {}, [`2 ${ann}`], []],
    ["text with tabs", "User ID\tE-mail\tName\nu-1\tann@example.com\tAnn\n", {}, ["2 user_id=u-1"], []],
    ["Unicode text of Excel", utf16("email\tnäme\r\nann@example.com\tÄnn\r\n"), {}, [`2 ${ann}`], []],
    ["UTF-16 with the high byte first", utf16("email\nann@example.com\n").swap16(), {}, [`2 ${ann}`], []],
    ["CSV of LibreOffice", '"Email";"Name"\n"ann@example.com";"Lee; ""Ann"""\n', {}, [`2 ${ann}`], []],
    [
      "lines that end in CR",
      "email\rann@example.com\r\rben@example.com",
      {},
      [`2 ${ann}`, "4 email=ben@example.com"],
      [],
    ],
    ["a header in single quotes", "'email' , name\nann@example.com,Ann\n", {}, [`2 ${ann}`], []],
    ["blank lines before the header", "\n \n\nEmail\nann@example.com\n", {}, [`5 ${ann}`], []],
    ["empty columns and rows at the end", "email;user_id;;\nann@example.com;;;\n;;;\n;;;\n", {}, [`2 ${ann}`], []],
    [
      "rows without their last empty cells",
      "email,name,phone\nann@example.com\nben@x,B,1,,\n",
      {},
      [`2 ${ann}`, "3 email=ben@x"],
      [],
    ],
    [
      "a cell of several lines",
      'name;email\n"Ann\n\nLee";ann@example.com\n;ben@x\n',
      {},
      [`2 ${ann}`, "5 email=ben@x"],
      [],
    ],
    [
      "rows of several tables",
      "table,email,account_id\naccount,,a-1\n,ann@example.com,\naccount,x@y,\nno,x@y,\n",
      {},
      ["2 account.account_id=a-1", `3 ${ann}`],
      ["4 empty_identity", "5 unknown_table"],
    ],
    [
      "rows of table, field and value",
      "table,field,value\nuser,email,ann@example.com\n\n,_uid,ben@x\n",
      {},
      [`2 ${ann}`, "4 _uid=ben@x"],
      [],
    ],
    [
      "rows of values alone",
      'value\r\nann@example.com\r\n"ben@x"\r\n',
      { field: "email" },
      [`2 ${ann}`, "3 email=ben@x"],
      [],
    ],
    ["one value per line", "ann@example.com\r\n\r\n ben@x \n", { field: "email" }, [`1 ${ann}`, "3 email=ben@x"], []],
    [
      "one value per line of another table",
      "a-1\n",
      { table: "account", field: "domain" },
      ["1 account.domain=a-1"],
      [],
    ],
    ["values that are lines as they are", "a,b;c\n", { field: "_uid", format: "values" }, ["1 _uid=a,b;c"], []],
    [
      "JSON lines",
      '\ufeff{"field":"email","value":"Ann@Example.com"}\n\n{"table":"account","field":"account_id","value":7}\n',
      {},
      [`1 ${ann}`, "3 account.account_id=7"],
      [],
    ],
    [
      "a JSON array",
      '[{"value":"u-1"},\n\n{"field":"email","value":"ann@example.com"},{"field":null,"value":"u-2"}\n]',
      { field: "_uid" },
      ["1 _uid=u-1", `3 ${ann}`, "3 _uid=u-2"],
      [],
    ],
    // Files with refused lines.
    [
      "values in quotes, with separators and with a name",
      '"ann@example.com"\nann@example.com,\nAnn <ann@example.com>\nann@example.com;x\nann@example.com\n',
      { field: "email" },
      [`5 ${ann}`],
      [1, 2, 3, 4].map((line) => `${line} invalid_identity`),
    ],
    [
      "rows of CSV without a header",
      "u-1;ann@example.com\nu-2;ben@x\n",
      { field: "_uid" },
      [],
      ["1 invalid_identity", "2 invalid_identity"],
    ],
    ["a header without a known name", "uid,mail\nu-1,ann@example.com\n", {}, [], ["1 no_header", "2 no_header"]],
    ["a header of another table", "domain\na.example\n", {}, [], ["1 no_header", "2 no_header"]],
    [
      "cells that identify no one",
      "email,user_id,_uid\n\\N,u-7,x\nann@example.com,NULL,x\nn/a,0,\n\"'none'\",-,dev-1\n",
      {},
      ["2 user_id=u-7", `3 ${ann}`, "5 _uid=dev-1"],
      ["4 empty_identity"],
    ],
    [
      "several files in one, each with its header",
      "User ID;Name\nu-1;Ann\n\ufeffUser ID;Name\nu-2;user_id\n",
      {},
      ["2 user_id=u-1", "4 user_id=u-2"],
      ["3 invalid_row"],
    ],
    ["a malformed cell of the strongest field", "_uid,email\ndev-1,ann\n", {}, [], ["2 invalid_identity"]],
    [
      "quotes that belong to no value",
      'email, user_id\nann@example.com, "u-1"\nann@example.com,="u-2"\nann@example.com,"=""u-3"""\n\'ann@example.com\',\na\'b@x,\n,9" \n',
      {},
      ["6 email=a'b@x", '7 user_id=9"'],
      [2, 3, 4, 5].map((line) => `${line} invalid_identity`),
    ],
    [
      "rows of field and value in quotes",
      "field,value\nuser_id,'u-1'\nuser_id,u-2\n",
      {},
      ["3 user_id=u-2"],
      ["2 invalid_identity"],
    ],
    [
      "invisible characters around values, as programs copy them",
      "email,user_id\n\u200bann@example.com,\n\u202aann@example.com\u202c,\n,u-1\u200e\n,u\u200d1\n",
      {},
      ["5 user_id=u\u200d1"],
      [2, 3, 4].map((line) => `${line} invalid_identity`),
    ],
    ["lines that begin with one", "\u200bu-1\nu-2\n", { field: "user_id" }, ["2 user_id=u-2"], ["1 invalid_identity"]],
    ["values in single quotes", "'u-1'\nu-2\n", { field: "user_id" }, ["2 user_id=u-2"], ["1 invalid_identity"]],
    [
      "values in quotes that are a part of them",
      "'u-1'\n",
      { field: "user_id", format: "values" },
      ["1 user_id='u-1'"],
      [],
    ],
    [
      "rows with too few or too many cells",
      "_uid,email\nann@example.com\na,b@x,c\n",
      {},
      [],
      ["2 invalid_row", "3 invalid_row"],
    ],
    [
      "a quote that is not closed",
      'email,name\nann@example.com,Ann\nben@x,"Ben\ncy@x,Cy\n',
      {},
      [`2 ${ann}`],
      ["3 open_quote", "4 open_quote"],
    ],
    [
      "bytes that are no characters",
      Buffer.from("name;email\nM\xfcller;mu@x\nAnn;ann@example.com\n", "latin1"),
      {},
      [`3 ${ann}`],
      ["2 not_utf8"],
    ],
    [
      "a line of more than 16 MiB",
      `email\n${"x".repeat(16 * 1024 * 1024 + 1)}\nann@example.com\n`,
      {},
      [`3 ${ann}`],
      ["2 too_long"],
    ],
    [
      "lines that are no items",
      '{"field":"email","value":"ann@example.com"}\nAnn\n[1]\n{"email":"x@y"}\n{"field":"email","value":null}\n',
      {},
      [`1 ${ann}`],
      ["2 not_json", "3 not_an_object", "4 unknown_field", "5 invalid_identity"],
    ],
  ];
  for (const [name, content, options, sent, refused] of forms) {
    it(`is read, and every line that is no identity refused: ${name}`, async () => {
      const { reader: _, ...whole } = await read(content, options);
      expect(whole).to.deep.equal({ sent, refused });
      // Wherever the pieces are cut.
      for (const size of [2, 7]) {
        if (content.length > 1_000) break;
        const { reader: _, ...pieces } = await read(content, options, size);
        expect(pieces).to.deep.equal(whole);
      }
    });
  }

  it("has a person in each row, named by the strongest field that is filled, or by the field of the options", async () => {
    const rows = "_uid,email,user_id\ndev-1,ann@example.com,u-1\ndev-1,ann@example.com,\ndev-1,,\n";
    expect((await read(rows)).sent).to.deep.equal(["2 user_id=u-1", "3 email=ann@example.com", "4 _uid=dev-1"]);
    const byEmail = await read(rows, { field: "email" });
    expect([byEmail.sent, byEmail.refused]).to.deep.equal([
      ["2 email=ann@example.com", "3 email=ann@example.com"],
      ["4 empty_identity"],
    ]);
  });

  it("follows the strength and the values of a configured table", async () => {
    const custom = tablesOf([
      {
        name: "user",
        identities: ["phone", "E_Mail", { name: "card", normal_form: "email" }],
        strongest_first: ["E_Mail", "card", "phone"],
        nobody: ["test"],
        common_nobody: false,
      },
    ]);
    const { sent, refused } = await read("phone;e-mail;card\n1;null;\n2;Test;c@x\n3;;c\n", { tables: custom });
    expect([sent, refused]).to.deep.equal([["2 E_Mail=null", "3 card=c@x"], ["4 invalid_identity"]]);
  });

  const sources: [content: string, options: IdentityFileOptions, source: string, needsField?: boolean][] = [
    ["\nEmail\na@x\n", {}, "email, from the file's header"],
    ["_uid;email;user_id\n", {}, "user_id, else email, else _uid, from the file's header"],
    ["_uid;email;user_id\n", { field: "email" }, "email, from the file's header"],
    ["field,value\n", {}, "field and value of each row"],
    ["a@x\n", { field: "email" }, "email, one value per line"],
    ["{}\n", {}, "each line of JSON"],
    ["[]\n", {}, "each element of a JSON array"],
    ["a@x\n", {}, "nothing", true],
  ];
  it("tells where it names the people", async () => {
    for (const [content, options, source, needsField = false] of sources) {
      const { reader } = await read(content, options);
      expect([reader.source, reader.needsField], content).to.deep.equal([source, needsField]);
    }
  });

  const unreadable: [content: string, options: IdentityFileOptions, message: RegExp][] = [
    ["Email,E-Mail\n", {}, /^people has two columns for email in its header$/],
    ["email\n", { field: "_uid" }, /^people has no column _uid in its header$/],
    ["email,value\n", {}, /^people needs the columns field, value and, optionally, table, and no others$/],
    ["value\n", {}, /^people needs the columns field, value/],
    ["email\n", { table: "no" }, /^There is no such table; the tables are user, /],
    ['[{"value":"u"}', { field: "_uid" }, /^people is not one complete JSON array/],
    ['[{"value":"u"},\n]', { field: "_uid" }, /^people is not one complete JSON array/],
    [`[${" ".repeat(1_000)}\n`.repeat(17_000), {}, /^people is a JSON array of more than 16 MiB/],
  ];
  for (const [content, options, message] of unreadable) {
    it(`is refused as a whole, without a part of it in the error: ${message.source.slice(1)}`, async () => {
      const error = await read(content, options).catch((reason: unknown) => reason);
      expect((error as Error).message).to.match(message);
    });
  }

  it("is JSON or not by the end of its name, else by its first line", async () => {
    expect((await read('no JSON\n{"value":"x"}\n', { name: "a.NDJSON.gz", field: "_uid" })).sent).to.deep.equal([
      "2 _uid=x",
    ]);
  });
});
