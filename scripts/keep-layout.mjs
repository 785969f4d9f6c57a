// Stores a small data folder of the newest embedded layout as SQL in test/fixtures: node --import tsx scripts/keep-layout.mjs
import { keepLayout } from "../test/support/kept-layout.ts";

process.stdout.write(`${await keepLayout()}\n`);
