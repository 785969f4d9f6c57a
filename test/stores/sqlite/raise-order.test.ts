import { raiseOrderContract } from "../../contracts/raise-order.contract.js";
import { temporaryStores } from "../../support/stores.js";

raiseOrderContract("embedded", () => temporaryStores());
