import { leaseContract } from "../contracts/lease.contract.js";
import { temporaryStores } from "../support/temporary-stores.js";

leaseContract("embedded", () => temporaryStores());
