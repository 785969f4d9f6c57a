import { catalogueStoreContract } from "../contracts/catalogue-store.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

catalogueStoreContract("embedded", () => temporaryStores());
