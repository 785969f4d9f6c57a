import { join } from "node:path";
import { dataFolder } from "../../support/data-folder.js";
import { until } from "../../support/until.js";
import { type MongoMember, startMember } from "./mongo-member.js";

/** A replica set of three members for one test. */
export interface MongoSet {
  readonly members: readonly MongoMember[];
  /** The URL of a database, which names every member. */
  url(database: string): string;
  /** Resolves with the primary once there is one, other than `but`. */
  primary(but?: MongoMember): Promise<MongoMember>;
  /** Resolves when one member is the primary and the others are secondaries. */
  whole(): Promise<void>;
  close(): Promise<void>;
}

const MEMBERS = 3;
const NAME = "changing";
/** Time without a sign of the primary after which the others elect a new one, ms: 10,000 by default. */
const ELECTION_TIMEOUT_MS = 3000;
const HEARTBEAT_MS = 500;
const WAIT_MS = 60_000;

/** Starts one. The members reach one another through their fault proxies. */
export async function startMongoSet(): Promise<MongoSet> {
  const dir = dataFolder();
  const members: MongoMember[] = [];

  async function primary(but?: MongoMember): Promise<MongoMember> {
    let found: MongoMember | undefined;
    const isThere = async () => {
      found = await primaryNow(but);
      return found !== undefined;
    };
    await until("there is a primary", isThere, WAIT_MS);
    return found as MongoMember;
  }

  /** A primary that is cut off does not notice the new one at once: the one elected last is the primary. */
  async function primaryNow(but?: MongoMember): Promise<MongoMember | undefined> {
    const said = await Promise.all(
      members.filter((member) => member !== but).map(async (member) => ({ member, hello: await member.hello() })),
    );
    const elected = said.filter(({ hello }) => hello?.isWritablePrimary);
    const electionOf = ({ hello }: (typeof said)[number]) => hello?.electionId?.toHexString() ?? "";
    return elected.sort((a, b) => (electionOf(a) < electionOf(b) ? 1 : -1))[0]?.member;
  }

  /** One of `primary`, `secondary`, `other` and `silent` for each member. */
  async function states(): Promise<string[]> {
    const said = await Promise.all(members.map((member) => member.hello()));
    return said.map((hello) => {
      if (hello === undefined) return "silent";
      return hello.isWritablePrimary ? "primary" : hello.secondary ? "secondary" : "other";
    });
  }

  async function whole(): Promise<void> {
    let now: string[] = [];
    const isWhole = async () => {
      now = await states();
      return now.toSorted().join() === "primary,secondary,secondary";
    };
    await until("every member is primary or secondary", isWhole, WAIT_MS).catch((error) => {
      throw new Error(`${error.message}: ${now.join(", ")}`);
    });
  }

  const set: MongoSet = {
    members,
    url: (database) => `mongodb://${members.map(({ host }) => host).join(",")}/${database}?replicaSet=${NAME}`,
    primary,
    whole,
    async close() {
      await Promise.all(members.map((member) => member.close()));
    },
  };
  try {
    for (let index = 0; index < MEMBERS; index += 1) members.push(await startMember(join(dir, `m${index}`), NAME));
    await Promise.all(members.map((member) => member.start()));
    await members[0]?.command({ replSetInitiate: configurationOf(members) });
    await set.whole();
  } catch (error) {
    await set.close();
    throw error;
  }
  return set;
}

function configurationOf(members: readonly MongoMember[]): object {
  return {
    _id: NAME,
    members: members.map(({ host }, _id) => ({ _id, host })),
    settings: { electionTimeoutMillis: ELECTION_TIMEOUT_MS, heartbeatIntervalMillis: HEARTBEAT_MS },
  };
}
