import { isDeepStrictEqual } from "node:util";
import { type ClientSession, type Db, ReadConcern } from "mongodb";

/** Options of one read. */
export interface ReadOptions {
  readonly readConcern: ReadConcern;
  readonly session?: ClientSession;
}

/**
 * Returns documents that survive a change of primary and include every write acknowledged before. A majority read may
 * be older: a new primary learns only later which writes a majority has. So if the newest documents of the primary
 * differ, waits until a majority has them. `read` runs up to three times.
 */
export async function committedRead<T>(db: Db, read: (options: ReadOptions) => Promise<T>): Promise<T> {
  const [committed, newest] = await Promise.all([read({ readConcern: MAJORITY }), read({ readConcern: LOCAL })]);
  if (isDeepStrictEqual(committed, newest)) return committed;
  return db.client.withSession({ causalConsistency: true }, async (session) => {
    // Its response contains the time of the primary's newest write, and the read of this session waits for that time.
    await db.command({ ping: 1 }, { session });
    return read({ readConcern: MAJORITY, session });
  });
}

export const MAJORITY = new ReadConcern("majority");
const LOCAL = new ReadConcern("local");
