import { expect } from "chai";
import {
  MongoBulkWriteError,
  MongoClientClosedError,
  type MongoError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from "mongodb";
import { mongoServiceError } from "../../../src/stores/mongodb/errors.js";

const coded = (code: number, message = "words") => new MongoServerError({ message, code });

function labelled<E extends MongoError>(error: E, label: string): E {
  error.addErrorLabel(label);
  return error;
}

function ofBulk(codes: readonly number[], unconfirmed?: { code: number; errmsg: string }): MongoBulkWriteError {
  const writeErrors = codes.map((code, index) => ({ code, index, errmsg: "words" }));
  const result = { getWriteConcernError: () => unconfirmed };
  return new MongoBulkWriteError({ message: "words", code: codes[0] ?? 64, writeErrors } as never, result as never);
}

describe("what an error of MongoDB means", () => {
  const cases: readonly [string, unknown, string | undefined][] = [
    ["a connection that was cut", new MongoNetworkError("cut"), "unavailable"],
    [
      "a connection that is cut in a write",
      Object.assign(new Error("cut"), { code: "ECONNRESET", syscall: "write" }),
      "unavailable",
    ],
    [
      "a connection that is written to after its end",
      Object.assign(new Error("ended"), { code: "EPIPE" }),
      "unavailable",
    ],
    ["a connection that is silent", new MongoNetworkTimeoutError("silent"), "unavailable"],
    ["no primary to be found", new MongoServerSelectionError("none", {} as never), "unavailable"],
    ["a client that is closed", new MongoClientClosedError(), "unavailable"],
    ["a topology that is closed", new MongoTopologyClosedError("closed"), "unavailable"],
    ["a server that is not the primary", coded(10107), "unavailable"],
    ["a server that steps down", coded(189), "unavailable"],
    ["a server that shuts down", coded(11600), "unavailable"],
    ["a time limit of the server", coded(50), "unavailable"],
    ["an error that may be tried again", labelled(coded(9999), "RetryableWriteError"), "unavailable"],
    [
      "a write that no majority confirmed",
      new MongoWriteConcernError({ writeConcernError: { code: 64, errmsg: "x" } } as never),
      "unavailable",
    ],
    ["a write of many that no majority confirmed", ofBulk([], { code: 64, errmsg: "x" }), "unavailable"],
    [
      "a write of many, some there already, that no majority confirmed",
      ofBulk([11000], { code: 64, errmsg: "x" }),
      "unavailable",
    ],
    [
      "a write of many that was never sent",
      new MongoBulkWriteError(new MongoNetworkError("cut") as never, {} as never),
      "unavailable",
    ],
    ["a write of many of which one was too late", ofBulk([11000, 112]), "unavailable"],
    ["a disk that is full", coded(14031), "out-of-space"],
    ["a disk that is full, in words", coded(1, "database or disk is full"), "out-of-space"],
    ["a write of many on a disk that is full", ofBulk([14031]), "out-of-space"],
    ["a value that is there already", coded(11000), undefined],
    ["a write of many that are there already", ofBulk([11000, 11000]), undefined],
    ["a mistake of ours", coded(9), undefined],
    ["a wrong argument", new MongoInvalidArgumentError("wrong"), undefined],
    ["an error of another library", new Error("connection"), undefined],
    ["no error", undefined, undefined],
  ];

  for (const [title, error, kind] of cases) {
    it(`${title} is ${kind ?? "no error of a store"}`, () => {
      const failure = mongoServiceError(error);
      expect(failure?.kind).to.equal(kind);
      if (kind === "unavailable") expect(failure?.retryAfter).to.be.greaterThan(0);
    });
  }
});
