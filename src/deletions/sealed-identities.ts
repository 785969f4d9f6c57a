import type { EntityId, StoredEntity } from "../entities/entity.js";
import { decodeDocument } from "../entities/entity-document.js";
import type { EntityKeys } from "../entities/entity-keys.js";
import type { Identity } from "../entities/identity.js";
import type { Sealing } from "../entities/sealed.js";
import type { Deletion } from "./deletion.js";

/** The list of identities that a request needs for its remote targets. It is sealed, and dies with completion. */
export interface SealedIdentities {
  /** Seals the list under the key of a fresh id. */
  seal(identities: readonly Identity[]): Promise<Pick<Deletion, "sealer" | "sealedIdentities">>;
  /** The list; empty when its key is destroyed, which happens only once every target is clean. */
  open(deletion: Pick<Deletion, "sealer" | "sealedIdentities">): Promise<Identity[]>;
  /** Seals the list again, longer, under the same key, or a fresh one when that is destroyed. */
  add(deletion: Deletion, identities: readonly Identity[]): Promise<Pick<Deletion, "sealer" | "sealedIdentities">>;
  /** Identities as written in profiles; none of a profile whose key is gone. */
  writtenIn(profiles: readonly StoredEntity[]): Promise<{ table: string; identity: Identity }[]>;
}

export function sealedIdentities(sealing: Sealing, keys: EntityKeys, newId: () => EntityId): SealedIdentities {
  async function sealUnder(sealer: EntityId, identities: readonly Identity[]) {
    const plain = Buffer.from(JSON.stringify(identities.map(({ field, value }) => [field, value])));
    const [sealed] = await sealing.seal([{ entity: sealer, plain }]);
    return { sealer, sealedIdentities: sealed as Uint8Array };
  }

  async function seal(identities: readonly Identity[]) {
    const sealer = newId();
    await keys.create([sealer]);
    return sealUnder(sealer, united(identities));
  }

  async function read(deletion: Pick<Deletion, "sealer" | "sealedIdentities">): Promise<Identity[] | undefined> {
    const [plain] = await sealing.open([{ entity: deletion.sealer, sealed: deletion.sealedIdentities }]);
    if (plain === undefined) return undefined;
    const pairs = JSON.parse(Buffer.from(plain).toString()) as [string, string][];
    return pairs.map(([field, value]) => ({ field, value }));
  }

  return {
    seal,

    open: async (deletion) => (await read(deletion)) ?? [],

    async add(deletion, identities) {
      const kept = await read(deletion);
      return kept === undefined ? seal(identities) : sealUnder(deletion.sealer, united([...kept, ...identities]));
    },

    async writtenIn(profiles) {
      const plain = await sealing.open(profiles.map(({ id, sealed }) => ({ entity: id, sealed })));
      return profiles.flatMap(({ table }, index) => {
        const bytes = plain[index];
        return bytes === undefined ? [] : decodeDocument(bytes).identities.map((identity) => ({ table, identity }));
      });
    },
  };
}

/** Each identity once. */
function united(identities: readonly Identity[]): Identity[] {
  return [
    ...new Map(identities.map((identity) => [JSON.stringify([identity.field, identity.value]), identity])).values(),
  ];
}
