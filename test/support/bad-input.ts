import { expect } from "chai";
import { type RawAnswer, rawRequest } from "./raw-request.js";
import type { FetchOptions, TestService } from "./service.js";

/** A string that is part of every input and that no response may repeat. */
export const canary = "zqcanaryqz";

/** Expects the format of an error, from any part of the service. */
export function expectError(answer: { status: number; body: unknown; text: string }, ...statuses: number[]): void {
  expect(statuses, answer.text.slice(0, 300)).to.include(answer.status);
  const body = answer.body as { status: number; message: string; data: unknown; errors: { code: string }[] };
  expect(body, answer.text.slice(0, 300)).to.be.an("object");
  expect(body.status).to.equal(answer.status);
  expect(body.message).to.be.a("string").and.not.equal("");
  expect(body.data).to.equal(null);
  expect(body.errors).to.be.an("array").and.not.have.length(0);
  for (const issue of body.errors) expect(issue).to.have.all.keys("code", "path", "message");
  expect(answer.text).to.not.include(canary);
}

export interface Issue {
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

/** Sends a request that must be refused; resolves with the issues of the answer. */
export async function refused(
  service: TestService,
  path: string,
  options: FetchOptions,
  ...statuses: number[]
): Promise<readonly Issue[]> {
  const response = await service.fetch(path, options);
  const text = await response.text();
  expect(response.headers.get("content-type"), text.slice(0, 200)).to.match(/^application\/json/);
  expect(response.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
  expect(response.headers.get("x-content-type-options")).to.equal("nosniff");
  expect(response.headers.get("cache-control")).to.equal("no-store");
  const body = parsed(text);
  expectError({ status: response.status, body, text }, ...statuses);
  return (body as { errors: Issue[] }).errors;
}

/** Sends bytes that must be refused. */
export async function refusedRaw(
  service: TestService,
  bytes: string | Buffer,
  ...statuses: number[]
): Promise<RawAnswer> {
  const answer = await rawRequest(service.port, bytes);
  expect(answer.headers.get("content-type"), answer.text).to.match(/^application\/json/);
  expect(answer.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
  expect(answer.headers.get("x-content-type-options")).to.equal("nosniff");
  expectError(answer, ...statuses);
  return answer;
}

/** The request line and usual headers of a raw request. */
export function head(method: string, target: string, service: TestService, headers: readonly string[] = []): string {
  const lines = [`${method} ${target} HTTP/1.1`, "Host: localhost", `Authorization: ${service.key}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Expects that the service still serves. */
export async function expectAlive(service: TestService): Promise<void> {
  const response = await service.fetch("/health", { key: null });
  expect(response.status).to.equal(200);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
