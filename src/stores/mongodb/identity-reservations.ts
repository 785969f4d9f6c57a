import type { EntityId } from "../../entities/entity.js";
import type { IdentityHash } from "../../entities/identity.js";
import { duplicatesOf, oneOf } from "./collection.js";
import { fence } from "./entity-fences.js";
import {
  type EntityRecords,
  type Followed,
  follow,
  type IdentityRecord,
  isFresh,
  lists,
  readHeads,
} from "./entity-records.js";

/** What a save needs before its commit: that these identities, which its entity did not have when it was read, lead to it. */
export interface Claim {
  readonly entity: EntityId;
  readonly hashes: readonly IdentityHash[];
  /** Entities that end in it, with their identities. */
  readonly absorbed: ReadonlySet<EntityId>;
  /** Entities whose hold on an identity is void. */
  readonly released: ReadonlySet<EntityId>;
  /** What `reserve` did for it, for `giveBack`. */
  readonly reserved: Reservation[];
}

interface Reservation {
  readonly hash: IdentityHash;
  /** Void holder that it was taken from. */
  readonly from: EntityId | undefined;
}

/**
 * Points every identity of the claims to its entity, under this token, and hands out the claims of which all could be had.
 *
 * Two entities never both get to list an identity. To be taken from an entity that does not list it, it must bear the same
 * token before that entity was fenced off and after it was found not to list it: so every save of that entity that could
 * still be committed has pointed it there again, after it read the entity, and the token is another one.
 */
export async function reserve(records: EntityRecords, claims: readonly Claim[], token: string): Promise<Set<Claim>> {
  const wanted = claims.flatMap((claim) => claim.hashes.map((hash) => ({ claim, hash })));
  const taken = await insert(records, wanted, token);
  const refused = new Set<Claim>();
  if (taken.length > 0) {
    const moves = await findMoves(records, taken, refused);
    await move(records, moves, token, refused);
  }
  return new Set(claims.filter((claim) => !refused.has(claim)));
}

interface Wanted {
  readonly claim: Claim;
  readonly hash: IdentityHash;
}

/** Points identities here that led nowhere; hands out the others. */
async function insert(
  { identities, clock }: EntityRecords,
  wanted: readonly Wanted[],
  token: string,
): Promise<Wanted[]> {
  if (wanted.length === 0) return [];
  const at = clock();
  const documents = wanted.map(({ claim, hash }) => ({ _id: hash, entity: claim.entity, token, at }));
  let duplicates = new Set<number>();
  try {
    await identities.insertMany(documents, { ordered: false });
  } catch (error) {
    duplicates = duplicatesOf(error);
  }
  wanted.forEach(({ claim, hash }, index) => {
    if (!duplicates.has(index)) claim.reserved.push({ hash, from: undefined });
  });
  return wanted.filter((_, index) => duplicates.has(index));
}

interface Move extends Wanted {
  readonly pointer: IdentityRecord;
  /** Whether its holder has it, by right but for its being void. */
  readonly isReleased: boolean;
}

/** What a pointer that is in the way comes to. */
type Verdict = "own" | "absorbed" | "taken" | "released" | "leftover" | "nobody's";

/** Pointers to be moved; what they lead to is fenced off where that is needed. Claims on others are refused. */
async function findMoves(records: EntityRecords, wanted: readonly Wanted[], refused: Set<Claim>): Promise<Move[]> {
  const found = await records.identities.find({ _id: oneOf(wanted.map(({ hash }) => hash)) }).toArray();
  const pointers = new Map(found.map((pointer) => [pointer._id, pointer]));
  const before = await follow(records, new Set(found.map(({ entity }) => entity)));
  const moves: Move[] = [];
  const doubtful: Move[] = [];
  for (const { claim, hash } of wanted) {
    const pointer = pointers.get(hash);
    const verdict = pointer === undefined ? "taken" : judge(claim, pointer, before);
    if (pointer === undefined || verdict === "taken") refused.add(claim);
    else if (verdict === "leftover" && isFresh(pointer, records.clock)) refused.add(claim);
    else if (verdict === "own" || verdict === "nobody's") moves.push({ claim, hash, pointer, isReleased: false });
    else if (verdict !== "absorbed") doubtful.push({ claim, hash, pointer, isReleased: verdict === "released" });
  }
  const due = doubtful.filter(({ claim }) => !refused.has(claim));
  if (due.length > 0) moves.push(...(await fenceOff(records, due, refused)));
  return moves.filter(({ claim }) => !refused.has(claim));
}

function judge({ entity, absorbed, released }: Claim, pointer: IdentityRecord, entities: Followed): Verdict {
  if (pointer.entity === entity) return "own";
  const root = entities.root(pointer.entity);
  if (root !== undefined && lists(root, pointer._id)) {
    if (absorbed.has(root._id)) return "absorbed";
    return released.has(root._id) ? "released" : "taken";
  }
  const isOver = entities.isDead(pointer.entity) || entities.into(pointer.entity) !== undefined;
  return isOver ? "nobody's" : "leftover";
}

/** Makes saves fail that could still give these identities to their holders; refuses claims on those that have them by now. */
async function fenceOff(records: EntityRecords, doubtful: readonly Move[], refused: Set<Claim>): Promise<Move[]> {
  const holders = new Set(doubtful.map(({ pointer }) => pointer.entity));
  await fence(records, holders);
  const after = await follow(records, holders);
  const left: Move[] = [];
  for (const move of doubtful) {
    const verdict = judge(move.claim, move.pointer, after);
    if (verdict === "taken" || verdict === "absorbed") refused.add(move.claim);
    else left.push({ ...move, isReleased: verdict === "released" });
  }
  return left;
}

/** Points them here, each on condition that nobody has pointed it anywhere since it was looked at. */
async function move(
  { identities, clock }: EntityRecords,
  moves: readonly Move[],
  token: string,
  refused: Set<Claim>,
): Promise<void> {
  if (moves.length === 0) return;
  const at = clock();
  const { matchedCount } = await identities.bulkWrite(
    moves.map(({ claim: { entity }, hash, pointer }) => {
      const filter = { _id: hash, entity: pointer.entity, token: pointer.token };
      return { updateOne: { filter, update: { $set: { entity, token, at } } } };
    }),
    { ordered: false },
  );
  const hashes = moves.map(({ hash }) => hash);
  const ours =
    matchedCount === moves.length ? undefined : await identities.find({ _id: oneOf(hashes), token }).toArray();
  const got = ours && new Set(ours.map(({ _id }) => _id));
  for (const { claim, hash, pointer, isReleased } of moves) {
    if (got !== undefined && !got.has(hash)) refused.add(claim);
    else if (pointer.entity !== claim.entity) {
      claim.reserved.push({ hash, from: isReleased ? pointer.entity : undefined });
    }
  }
}

/**
 * Takes back what was reserved for claims that did not come to their commit. What the entity has by now after all, or may
 * have taken with it into another, stays; so does what another save has pointed to it since. Safe to repeat.
 */
export async function giveBack(records: EntityRecords, claims: readonly Claim[], token: string): Promise<void> {
  const due = claims.filter(({ reserved }) => reserved.length > 0);
  if (due.length === 0) return;
  const heads = await readHeads(
    records,
    due.map(({ entity }) => entity),
  );
  const operations = due.flatMap(({ entity, reserved }) => {
    const head = heads.get(entity);
    if (head?.state === "joined" || head?.joining !== undefined) return [];
    return reserved
      .filter(({ hash }) => !lists(head, hash))
      .map(({ hash, from }) => {
        const filter = { _id: hash, entity, token };
        if (from === undefined) return { deleteOne: { filter } };
        return { updateOne: { filter, update: { $set: { entity: from } } } };
      });
  });
  if (operations.length > 0) await records.identities.bulkWrite(operations, { ordered: false });
}
