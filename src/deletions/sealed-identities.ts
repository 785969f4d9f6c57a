import type { EntityId, StoredEntity } from "../entities/entity.js";
import { decodeDocument } from "../entities/entity-document.js";
import type { EntityKeys } from "../entities/entity-keys.js";
import type { Identity } from "../entities/identity.js";
import { batchSealing, type Sealing } from "../entities/sealed.js";
import type { Deletion } from "./deletion.js";

/** A list of identities, with the key of its own that the ledger keeps together with it. */
export interface SealedList extends Pick<Deletion, "sealer" | "sealedIdentities"> {
  readonly sealerKey: Uint8Array;
}

/** The list of identities that a request needs for its remote targets. It is sealed, and dies with completion. */
export interface SealedIdentities {
  /** Seals the list under a new key of a fresh id. Nothing is stored. */
  seal(identities: readonly Identity[]): Promise<SealedList>;
  /** The list; empty when its key is destroyed, which happens only once every target is clean. */
  open(deletion: Pick<Deletion, "sealer" | "sealedIdentities">): Promise<Identity[]>;
  /** Identities as written in profiles; none of a profile whose key is gone. */
  writtenIn(profiles: readonly StoredEntity[]): Promise<{ table: string; identity: Identity }[]>;
}

export function sealedIdentities(
  sealing: Sealing,
  keys: Pick<EntityKeys, "read">,
  newId: () => EntityId,
): SealedIdentities {
  return {
    async seal(identities) {
      const sealer = newId();
      const { seal, newKeys } = batchSealing(keys);
      const sealerKey = newKeys([sealer]).get(sealer) as Uint8Array;
      const plain = Buffer.from(JSON.stringify(united(identities).map(({ field, value }) => [field, value])));
      const [sealed] = await seal([{ entity: sealer, plain }]);
      return { sealer, sealedIdentities: sealed as Uint8Array, sealerKey };
    },

    async open({ sealer, sealedIdentities }) {
      const [plain] = await sealing.open([{ entity: sealer, sealed: sealedIdentities }]);
      if (plain === undefined) return [];
      const pairs = JSON.parse(Buffer.from(plain).toString()) as [string, string][];
      return pairs.map(([field, value]) => ({ field, value }));
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
