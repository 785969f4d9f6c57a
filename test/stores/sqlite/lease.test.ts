import { leaseContract } from "../../contracts/lease.contract.js";
import { temporaryStores } from "../../support/stores.js";

leaseContract("embedded", () => temporaryStores());
