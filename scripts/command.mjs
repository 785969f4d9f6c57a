// npm run key | collect | ingest | export | erase | receipt | backup | migrate: the set-up, then the command itself.
import { setUp } from "./set-up.mjs";

const [name] = process.argv.splice(2, 1);
setUp();
await import(`../dist/commands/${name}.js`);
