import { alertStateContract } from "../../contracts/alert-state.contract.js";
import { temporaryStores } from "../../support/stores.js";

alertStateContract("embedded", () => temporaryStores());
