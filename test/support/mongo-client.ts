import { MongoClient } from "mongodb";
import { mongodbUrl } from "./servers.js";

/** Does this work with a client of its own for the server of the tests. */
export async function withMongo<T>(work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(mongodbUrl("admin"));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
