import { expect } from "chai";
import fc from "fast-check";
import { BrokenResponse } from "../../../src/stores/influxdb/errors.js";
import { readRows, SlotTarget, slotReader } from "../../../src/stores/influxdb/response-csv.js";

const HOUR = 3_600_000;
const from = Date.UTC(2024, 1, 28, 22);
const header = ",result,table,_time,_value,_field,dimension_id,dimension_type\r\n";
const row = (table: number, time: string, value: string, id = "a", type = "size", field = "value") =>
  `,_result,${table},${time},${value},${field},${id},${type}\r\n`;
const end = "\r\n";

/** Reads a response in pieces of `pieceBytes` into columns of four hours by id and type. */
async function read(text: string, pieceBytes = 1_000_000): Promise<Record<string, (number | null)[]>> {
  const columns = new Map<string, SlotTarget>();
  const reader = slotReader((id, type) => {
    const target = columns.get(`${id} ${type}`) ?? new SlotTarget(from, HOUR, 4);
    columns.set(`${id} ${type}`, target);
    return [target];
  });
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
  await readRows(pieces, reader);
  const plain = (target: SlotTarget) =>
    [...(target.merged() ?? new Float64Array(4).fill(Number.NaN))].map((value) => (Number.isNaN(value) ? null : value));
  return Object.fromEntries([...columns].map(([key, target]) => [key, plain(target)]));
}

describe("CSV of InfluxDB", () => {
  const answer =
    header +
    row(0, "2024-02-28T22:00:00Z", "1") +
    row(0, "2024-02-29T00:00:00Z", "-2.5") +
    row(1, "2024-02-29T01:00:00Z", "0.0000001", '"b,c"" é"') +
    row(2, "2024-02-28T23:00:00Z", "7", "a", "reach") +
    end;

  for (const bytes of [1, 2, 3, 7, 64, 1_000_000]) {
    it(`is read into columns in pieces of ${bytes} bytes`, async () => {
      expect(await read(answer, bytes)).to.deep.equal({
        "a size": [1, null, -2.5, null],
        'b,c" é size': [null, null, null, 1e-7],
        "a reach": [null, 7, null, null],
      });
    });
  }

  for (const order of ["value", "recorded"]) {
    it(`results in the value of the clients or else of the recorder, if the field ${order} comes first`, async () => {
      const rows = {
        value: row(0, "2024-02-28T22:00:00Z", "1") + row(0, "2024-02-28T23:30:00Z", "2"),
        recorded:
          row(1, "2024-02-28T22:00:00Z", "7", "a", "size", "recorded") +
          row(1, "2024-02-28T23:00:00Z", "8", "a", "size", "recorded") +
          row(1, "2024-02-29T00:00:00Z", "9", "a", "size", "recorded"),
      };
      const both = order === "value" ? rows.value + rows.recorded : rows.recorded + rows.value;
      expect(await read(header + both + end)).to.deep.equal({ "a size": [1, 2, 9, null] });
      expect(await read(header + rows.recorded + end)).to.deep.equal({ "a size": [7, 8, 9, null] });
    });
  }

  it("may contain no row, annotations, several blocks, or its columns in another order", async () => {
    expect(await read(end)).to.deep.equal({});
    const annotated = `#datatype,string,long,dateTime:RFC3339,double,string,string\r\n${answer}`;
    expect(await read(annotated)).to.deep.equal(await read(answer));
    const second = `,result,table,dimension_type,dimension_id,_value,_field,_time\r\n,_result,0,size,"x,",4,value,2024-02-28T22:00:00Z\r\n\r\n`;
    expect(await read(answer + second)).to.deep.equal({ ...(await read(answer)), "x, size": [4, null, null, null] });
  });

  it("is rejected if it was cut at any byte", async () => {
    const bytes = Buffer.from(answer).length;
    for (let length = 0; length < bytes; length += 1) {
      const error = await failure(read(Buffer.from(answer).subarray(0, length).toString("latin1")));
      expect(error, String(length)).to.be.instanceOf(BrokenResponse);
    }
  });

  const broken: [string, string][] = [
    ["an error instead of rows", `,error,reference\r\nquery terminated,897\r\n`],
    ["an error after rows", `${answer}\r\n,error,reference\r\n,query terminated,\r\n`],
    ["an error after rows, with annotations", `${answer}#datatype,string,string\r\n,error,reference\r\n,gone,\r\n\r\n`],
    ["another column", `${header.replace("_value", "value")}${row(0, "2024-02-28T22:00:00Z", "1")}${end}`],
    ["a page of a proxy", "<html>\n<body>Welcome</body>\n</html>\n\n"],
    ["a short row", `${header},_result,0\r\n${end}`],
    ["no time", `${header}${row(0, "yesterday", "1")}${end}`],
    ["nothing at all", ""],
  ];
  for (const [what, text] of broken) {
    it(`is refused with ${what}`, async () => {
      expect(await failure(read(text))).to.be.instanceOf(BrokenResponse);
    });
  }

  it("may contain points outside the window, several points of a slot, of which the last one counts, or no number", async () => {
    const points =
      header +
      row(0, "2024-02-28T21:59:59.999Z", "1") +
      row(0, "2024-02-28T22:00:00.5Z", "2") +
      row(0, "2024-02-28T23:00:00Z", "3") +
      row(0, "2024-02-28T23:00:00.001Z", "4") +
      row(0, "2024-02-29T00:30:00.25Z", "5") +
      row(0, "2024-02-29T00:00:00Z", "6") +
      row(0, "2024-02-29T01:00:00Z", "+Inf") +
      row(0, "2024-02-29T02:00:00Z", "8") +
      end;
    expect(await read(points)).to.deep.equal({ "a size": [2, 4, 6, null] });
  });

  it("results in the same values in any order of columns", async () => {
    const quoted = (cell: string) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    const text = (rows: readonly Record<string, string>[], names: readonly string[]) =>
      `,${names.join()}\r\n${rows.map((row) => `,${names.map((name) => quoted(row[name] ?? "")).join()}\r\n`).join("")}\r\n`;
    const ids = ["a", "a:00:00Z,1", "1", "b,c", 'd"', ""];
    const one = fc.record({
      id: fc.constantFrom(...ids),
      field: fc.constantFrom("value", "recorded"),
      ms: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom(0.5, 1.25, 1e-6)),
      value: fc.constantFrom("1", "-2.5", "1e-7", "", "NaN", "+Inf", "1,2", "x"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 40 }), fc.integer({ min: 1, max: 200 }), async (some, bytes) => {
        const rows = some.map(({ id, field, ms, value }) => ({
          table: String(2 * ids.indexOf(id) + (field === "value" ? 0 : 1)),
          _time: new Date(from + Math.round(ms * HOUR)).toISOString().replace(".000Z", "Z"),
          _value: value,
          _field: field,
          dimension_id: id,
          dimension_type: "size",
        }));
        const usual = await read(
          text(rows, ["result", "table", "_time", "_value", "_field", "dimension_id", "dimension_type"]),
          bytes,
        );
        for (const order of [
          ["_value", "table", "_time", "dimension_id", "_field", "dimension_type"],
          ["table", "_field", "dimension_id", "dimension_type", "_time", "_value"],
          ["_time", "_value", "dimension_id", "table", "_field", "dimension_type"],
        ]) {
          expect(await read(text(rows, order), bytes)).to.deep.equal(usual);
        }
      }),
    );
  });

  it("may contain any number, which is read exactly", async () => {
    const read = (text: string) => slotAt(from, HOUR, row(0, "2024-02-28T22:00:00Z", text));
    await fc.assert(
      fc.asyncProperty(fc.double({ noNaN: true, noDefaultInfinity: true }), async (value) => {
        expect(Object.is(await read(String(value)), Number(String(value)))).to.equal(true);
        for (const text of [value.toFixed(3), value.toFixed(14), value.toFixed(30)]) {
          expect(await read(text), text).to.equal(Number(text));
        }
      }),
      { numRuns: 2_000 },
    );
    for (const text of ["", "-", ".", "1.2.3", "abc", "NaN", "+Inf", "true"]) expect(await read(text), text).to.be.NaN;
    for (const text of ["0", "-0", "007", "12345678901234567890", ".5", "1e3"]) {
      expect(Object.is(await read(text), Number(text)), text).to.equal(true);
    }
  });

  it("may contain any time, which is read exactly", async () => {
    const isAt = async (text: string, ms: number) => (await slotAt(ms, 1, row(0, text, "1"))) === 1;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: Date.UTC(2262, 0, 1) }), async (ms) => {
        const text = new Date(ms).toISOString();
        expect(await isAt(text, ms)).to.equal(true);
        expect(await isAt(`${text.slice(0, -1)}999999Z`, ms)).to.equal(true);
        expect(await isAt(`${text.slice(0, 19)}Z`, Math.floor(ms / 1_000) * 1_000)).to.equal(true);
      }),
    );
    for (const text of ["", "2024-02-28", "2024-02-28T22:00:00", "2024-02-28T22:00:00+01:00"]) {
      expect(await failure(isAt(text, from)), text).to.be.instanceOf(BrokenResponse);
    }
  });
});

/** The value of one slot after a response of one row. */
async function slotAt(at: number, slotMs: number, line: string): Promise<number | undefined> {
  const target = new SlotTarget(at, slotMs, 1);
  await readRows(
    [Buffer.from(header + line + end)],
    slotReader(() => [target]),
  );
  return target.merged()[0];
}

function failure(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}
