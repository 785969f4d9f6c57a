import type { Settings } from "../../config.js";
import { StartError } from "../../errors.js";
import type { KeyStore } from "../../keys/key-store.js";
import type { EntityEngine, OpenParts } from "../stores.js";

/** Opens the profiles in MongoDB. */
export async function openMongo(_: OpenParts): Promise<EntityEngine> {
  throw new StartError("ENTITIES_URL asks for MongoDB, which this version does not serve");
}

/** Opens the API keys alone, also beside a running service. */
export async function openMongoKeys(_: Settings): Promise<{ keys: KeyStore; close(): Promise<void> }> {
  throw new StartError("ENTITIES_URL asks for MongoDB, which this version does not serve");
}
