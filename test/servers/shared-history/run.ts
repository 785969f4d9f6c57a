import { readSettings } from "../../../src/config/settings.js";
import { ErasureModel, peopleOf } from "../../support/erasure-model.js";
import type { Operation, Request, SentMessage, Span } from "../../support/erasure-worlds.js";
import type { RealService } from "../../support/real-service.js";
import { until } from "../../support/until.js";
import { pathOfPerson, readPerson, textOfMessage } from "./people.js";
import type { MessageTime, PlannedMessage, Step, Turn } from "./plan.js";
import type { ProcessPair } from "./process-pair.js";

const HOUR = 3_600_000;
export const STREAM = "history";

/** A collect request as it was sent. */
interface Sent {
  readonly messages: readonly SentMessage[];
  readonly key: string | undefined;
}

/** Requests to a pair of processes, and the worlds of the model after their responses. */
export class SharedHistory {
  readonly pair: ProcessPair;
  readonly model = new ErasureModel();
  /** Ids of deletion requests, and whether one of the processes has reported them as complete. */
  readonly deletions = new Map<string, boolean>();
  /** Start of the slot that "long ago" is in, Unix ms. */
  readonly oldSlot = Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR;
  readonly #canary: string;
  readonly #people: number;
  /** `limits.store_deadline_ms` of the processes. */
  readonly #deadlineMs: number;
  readonly #sent: Sent[] = [];
  readonly #erased: number[] = [];
  readonly #times = new Map<number, Span[]>();
  /** Without an answer, to be repeated under their key. */
  readonly #unsure: { readonly operation: Operation; readonly sent: Sent }[] = [];
  /** Operations without a response, and their process: they take effect no later than a turn after its end. */
  readonly #lost = new Map<Operation, RealService>();
  #numbers = 0;
  #ids = 0;
  #reads = 0;

  constructor(pair: ProcessPair, canary: string, people: number) {
    this.pair = pair;
    this.#deadlineMs = readSettings(pair.set.environment).limits.store_deadline_ms;
    this.#canary = canary;
    this.#people = people;
  }

  /** Makes the requests of one turn and reads their identities; throws if the responses contradict each other. */
  async take({ base, clients, kill }: Turn, readsAll = false): Promise<void> {
    const operations: Operation[] = [];
    // Operations of a process that ended before this turn have no effect after it.
    const settled = [...this.#lost].flatMap(([lost, service]) =>
      this.#isOver(lost, service) && !this.#unsure.some(({ operation }) => operation === lost) ? [lost] : [],
    );
    let left = kill?.after ?? 0;
    const afterAnswer = () => {
      if (kill !== undefined && left === 0) this.pair.kill(kill.process);
      left -= 1;
    };
    await Promise.all([
      this.#repeatUnsure(operations),
      ...clients.map(async (steps) => {
        for (const step of steps) {
          await this.#make(step, base, operations);
          afterAnswer();
        }
      }),
    ]);
    await this.#nextMillisecond();
    const looked = new Set(
      readsAll ? Array.from({ length: this.#people }, (_, who) => who) : operations.flatMap(peopleOf),
    );
    await Promise.all(Array.from(looked, (who) => this.#read(who, this.#reads++, operations)));
    this.model.take(operations);
    this.model.settle((operation) => settled.includes(operation));
    for (const operation of settled) this.#lost.delete(operation);
    await this.#nextMillisecond();
  }

  /** Repeats the requests without a response, then reads every identity while nothing is in progress. */
  async comeToRest(): Promise<void> {
    await this.pair.whole();
    await this.take({ base: 0, clients: [], kill: undefined });
    this.#unsure.length = 0;
    await this.take({ base: 0, clients: [], kill: undefined }, true);
  }

  /** Asks for the erasure of every identity; resolves when no request is open. */
  async eraseAll(): Promise<void> {
    const steps = Array.from({ length: this.#people }, (_, who) => ({ kind: "delete", who, through: who }) as const);
    let left = steps;
    for (let round = 0; left.length > 0 && round < 20; round += 1) {
      const missed: (typeof steps)[number][] = [];
      const operations: Operation[] = [];
      const queue = [...left];
      const client = async () => {
        for (let step = queue.shift(); step !== undefined; step = queue.shift())
          if (!(await this.#make(step, 0, operations))) missed.push(step);
      };
      await Promise.all([client(), client(), client(), client()]);
      this.model.take(operations);
      left = missed;
    }
    if (left.length > 0) throw new Error("A DELETE is not answered however often it is repeated");
    await until("no deletion is open", async () => (await this.#open()) === 0, 120_000);
    for (const id of this.deletions.keys()) await this.#look(id, this.#reads++);
    const open = [...this.deletions].filter(([, isComplete]) => !isComplete);
    if (open.length > 0) throw new Error(`${open.length} deletions are not complete, though none is open`);
    await this.#nextMillisecond();
    await this.take({ base: 0, clients: [], kill: undefined }, true);
  }

  async #repeatUnsure(operations: Operation[]): Promise<void> {
    for (const { operation, sent } of this.#unsure.splice(0)) {
      const { answered } = await this.#collect(sent, this.#ids, operations, operation);
      if (answered) this.#lost.delete(operation);
      else this.#unsure.push({ operation, sent });
    }
  }

  /** Whether it was answered. */
  async #make(step: Step, base: number, operations: Operation[]): Promise<boolean> {
    const person = (offset: number) => (base + offset) % this.#people;
    const nth = <T>(items: readonly T[], which: number) => items[items.length - 1 - (which % items.length)] as T;
    switch (step.kind) {
      case "collect": {
        const messages = step.messages.map((message) => this.#messageOf(message, person));
        const sent = { messages, key: step.keyed ? `${this.#canary} ${this.#sent.length}` : undefined };
        this.#sent.push(sent);
        return (await this.#collect(sent, step.through, operations)).answered;
      }
      case "resend": {
        if (this.#sent.length === 0) return true;
        const sent = { ...nth(this.#sent, step.which), key: undefined };
        return (await this.#collect(sent, step.through, operations)).answered;
      }
      case "delete":
        return this.#delete(person(step.who), step.through, operations);
      case "delete again":
        if (this.#erased.length === 0) return true;
        return this.#delete(nth(this.#erased, step.which), step.through, operations);
      case "read":
        return this.#read(person(step.who), step.through, operations);
      case "status": {
        const id = this.deletions.size === 0 ? undefined : nth([...this.deletions.keys()], step.which);
        if (id !== undefined) await this.#look(id, step.through);
        return true;
      }
    }
  }

  #messageOf({ who, time }: PlannedMessage, person: (offset: number) => number): SentMessage {
    this.#numbers += 1;
    const at = this.#timeOf(time);
    const slot = time === "long ago" ? "old" : "recent";
    return { number: this.#numbers, who: [...new Set(who.map(person))], time: at, slot };
  }

  #timeOf(time: MessageTime): number | undefined {
    if (time === "arrival") return undefined;
    return time === "long ago" ? this.oldSlot + this.#numbers : Date.now() + time;
  }

  async #collect(sent: Sent, through: number, operations: Operation[], repeats?: Operation): Promise<Operation> {
    const { messages, key } = sent;
    const body = messages.map((message) => textOfMessage(this.#canary, message)).join("\n");
    const request = { kind: "collect", messages } as const;
    const headers = key === undefined ? {} : { "idempotency-key": key };
    const sending = messages.map((message) => this.#noteSending(message, repeats));
    const operation = await this.#ask(request, through, operations, repeats, async (service) => {
      const answer = await service.fetch(`/collect/json/${STREAM}?timestamp_field=at`, {
        method: "POST",
        type: "application/x-ndjson",
        headers,
        body,
      });
      const { data } = (await answer.json()) as { data: { message_count: number } | null };
      const isWhole = answer.status !== 200 || data?.message_count === messages.length;
      return isWhole ? statusOf(answer) : -1;
    });
    if (operation.answered)
      for (const span of sending) if (span.to === Number.POSITIVE_INFINITY) span.to = operation.during.to;
    if (!operation.answered && key !== undefined && repeats === undefined) this.#unsure.push({ operation, sent });
    return operation;
  }

  /** Notes that the message may take effect from now on. */
  #noteSending({ number, time }: SentMessage, repeats: Operation | undefined): { from: number; to: number } {
    const from = time ?? repeats?.during.from ?? Date.now();
    const span = { from, to: time ?? Number.POSITIVE_INFINITY };
    this.#times.set(number, [...(this.#times.get(number) ?? []), span]);
    return span;
  }

  async #delete(who: number, through: number, operations: Operation[]): Promise<boolean> {
    let id: string | undefined;
    const request = { kind: "delete", who } as const;
    const operation = await this.#ask(request, through, operations, undefined, async (service) => {
      const answer = await service.fetch(pathOfPerson(this.#canary, who), { method: "DELETE" });
      id = ((await answer.json()) as { data: { request_id: string } | null }).data?.request_id;
      return statusOf(answer);
    });
    this.#erased.push(who);
    if (operation.answered && id !== undefined) this.deletions.set(id, this.deletions.get(id) ?? false);
    return operation.answered;
  }

  /** Repeats the read while it is answered 503. Returns false if the process was killed. */
  async #read(who: number, through: number, operations: Operation[]): Promise<boolean> {
    const from = Date.now();
    const service = this.pair.service(through);
    try {
      const answer = await service.fetch(pathOfPerson(this.#canary, who));
      const body = (await answer.json()) as { data: Record<string, unknown> | null };
      if (statusOf(answer) === 503) return this.#read(who, through, operations);
      if (answer.status !== 200 && answer.status !== 404) throw new Error(`A read was answered with ${answer.status}`);
      const shown = answer.status === 404 ? undefined : readPerson(this.#canary, body.data ?? {}, this.#times);
      const during = { from, to: Date.now() };
      operations.push({ id: this.#ids++, request: { kind: "read", who, shown }, during, answered: true, through });
      return true;
    } catch (error) {
      if (!this.#wasKilled(service, error)) throw error;
      return false;
    }
  }

  /** Reads the status of a deletion: it is always known, and once complete it stays so. */
  async #look(id: string, through: number): Promise<void> {
    const before = this.deletions.get(id);
    const service = this.pair.service(through);
    try {
      const answer = await service.fetch(`/api/entity/deletestatus/${id}`);
      const { data } = (await answer.json()) as { data: { completed: boolean } | null };
      if (statusOf(answer) === 503) return this.#look(id, through);
      if (answer.status !== 200 || data === null) throw new Error(`The status of a deletion: ${answer.status}`);
      if (before === true && !data.completed) throw new Error("A deletion that was complete is open again");
      if (data.completed) this.deletions.set(id, true);
    } catch (error) {
      if (!this.#wasKilled(service, error)) throw error;
    }
  }

  async #open(): Promise<number> {
    const answer = await this.pair.service(0).fetch("/api/deletion");
    return ((await answer.json()) as { data: unknown[] }).data.length;
  }

  async #ask(
    request: Request,
    through: number,
    operations: Operation[],
    repeats: Operation | undefined,
    send: (service: RealService) => Promise<number>,
  ): Promise<Operation> {
    const from = Date.now();
    const service = this.pair.service(through);
    let status = 0;
    try {
      status = await send(service);
    } catch (error) {
      if (!this.#wasKilled(service, error)) throw error;
    }
    const isExpected = status === 200 || status === 0 || status === 503 || (status === 409 && repeats !== undefined);
    if (!isExpected) throw new Error(`${request.kind} was answered with ${status}`);
    const operation: Operation = {
      id: this.#ids++,
      request,
      during: { from, to: Date.now() },
      answered: status === 200,
      through,
      ...(repeats === undefined ? {} : { repeats }),
    };
    // The same request is or was in progress, so this one had no effect.
    if (status === 409) return operation;
    operations.push(operation);
    if (status !== 200) this.#lost.set(operation, service);
    return operation;
  }

  /** A process may still send a refused operation until both deadlines of the transaction have passed. */
  #isOver({ during }: Operation, service: RealService): boolean {
    const mayBeSent = this.pair.indexOf(service) >= 0 && Date.now() < during.to + 2 * this.#deadlineMs;
    return this.pair.isSettled(service) && !mayBeSent;
  }

  #wasKilled(service: RealService, error: unknown): boolean {
    return error instanceof TypeError && this.pair.indexOf(service) < 0;
  }

  /** Later requests have a later time on every clock of milliseconds. */
  async #nextMillisecond(): Promise<void> {
    const now = Date.now();
    await until("a millisecond has passed", () => Date.now() > now + 1);
  }
}

/** The status; a 503 must have Retry-After. */
function statusOf({ status, headers }: Response): number {
  if (status === 503 && headers.get("retry-after") === null) throw new Error("503 without Retry-After");
  return status;
}
