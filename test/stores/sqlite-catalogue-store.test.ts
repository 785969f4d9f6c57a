import { catalogueStoreContract } from "../contracts/catalogue-store.contract.js";
import { temporaryStores } from "../support/stores.js";

catalogueStoreContract("embedded", () => temporaryStores());
