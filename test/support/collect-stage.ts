import { expect } from "chai";
import { type Overrides, serviceOfSuite } from "./service.js";

/** The time of a stage when its first test begins, Unix ms. */
export const NOW = Date.UTC(2024, 5, 15, 12, 30);

interface Tally {
  message_count: number;
  rejected_count: number;
  errors: { code: string; path: string; message: string }[];
}

/** A service for the messages of a suite, whose hooks start and stop it. Each test has its own names and time. */
export function collectStage(overrides: Overrides = {}) {
  let serial = 0;
  const service = serviceOfSuite({ roles: ["api"], ...overrides }, { clock: () => on.now });
  const on = { service, now: NOW, own, post, taken, read, counted };
  beforeEach(() => {
    serial += 1;
    on.now += 1;
  });

  function own(value: string): string {
    return `${value}${serial}`;
  }

  async function post(body: unknown, query = "", type?: string) {
    const lines = typeof body === "string" || body instanceof Uint8Array;
    const answer = await on.service.fetch(`/collect/json/${own("stream")}${query}`, {
      method: "POST",
      ...(lines ? { body, headers: { "content-type": type ?? "application/x-ndjson" } } : { json: body }),
    });
    return { status: answer.status, body: (await answer.json()) as { data: Tally } };
  }

  async function taken(body: unknown, count: number, query = ""): Promise<void> {
    const answer = await post(body, query);
    const data = { message_count: count, rejected_count: 0, errors: [] };
    expect(answer.body).to.deep.equal({ status: 200, message: "success", data });
  }

  async function read(value: string): Promise<Record<string, unknown> | undefined> {
    const answer = await on.service.fetch(`/api/me/_uid/${encodeURIComponent(value)}`);
    return answer.status === 200 ? ((await answer.json()) as { data: Record<string, unknown> }).data : undefined;
  }

  /** Messages counted for the stream of this test, by slot. */
  async function counted(): Promise<Record<number, number>> {
    const counts = await on.service.service.stores.counts.unsaved(Number.MAX_SAFE_INTEGER, 9999);
    const mine = counts.filter(({ stream }) => stream === own("stream"));
    return Object.fromEntries(mine.map(({ slot, count }) => [slot, count]));
  }

  return on;
}
