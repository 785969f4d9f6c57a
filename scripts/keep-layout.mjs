// Keeps a small data folder of today's embedded layout as SQL in test/fixtures: node --import tsx scripts/keep-layout.mjs
import { keepLayout } from "../test/support/kept-layout.ts";

process.stdout.write(`${await keepLayout()}\n`);
