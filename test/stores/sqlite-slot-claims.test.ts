import { slotClaimsContract } from "../contracts/slot-claims.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

slotClaimsContract("embedded", () => temporaryStores());
