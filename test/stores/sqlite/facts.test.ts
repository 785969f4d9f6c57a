import { factsContract } from "../../contracts/facts.contract.js";
import { temporaryStores } from "../../support/stores.js";

factsContract("embedded", () => temporaryStores());
