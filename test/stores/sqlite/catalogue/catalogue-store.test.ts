import { catalogueStoreContract } from "../../../contracts/catalogue-store.contract.js";
import { markStoreContract } from "../../../contracts/mark-store.contract.js";
import { temporaryStores } from "../../../support/stores.js";

catalogueStoreContract("embedded", () => temporaryStores());
markStoreContract("embedded", () => temporaryStores());
