// Upgrades the file x.db of a folder, or the databases of a URL of MongoDB, to the made-up layout 5, and exits.
import { readSettings } from "../../src/config/settings.js";
import { failpointFrom } from "../../src/failpoint.js";
import { openLog } from "../../src/log.js";
import { openDatabases } from "../../src/stores/mongodb/open-databases.js";
import { closeDatabase } from "../../src/stores/sqlite/connection.js";
import { openDatabase } from "../../src/stores/sqlite/open-database.js";
import { newDocuments, newFile } from "./made-up-layouts.js";
import { testPepper } from "./servers.js";

const [place = ""] = process.argv.slice(2);
const failpoint = failpointFrom(process.env);
if (place.startsWith("mongodb:")) {
  const settings = readSettings({ DATA_DIR: "/nowhere", PEPPER: testPepper, ENTITIES_URL: place });
  const plans = { data: [], ledger: [], steps: newDocuments };
  await (await openDatabases(settings, plans, { log: openLog("silent"), failpoint })).close();
} else {
  closeDatabase(openDatabase(place, newFile, { failpoint }));
}
