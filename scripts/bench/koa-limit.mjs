// The lower limit of the cost: Koa reads the request and sends a prepared body, `?size=` bytes long. No service on Koa
// can be cheaper.
import Koa from "koa";

const bodies = new Map();
const app = new Koa();
app.use(async (ctx) => {
  for await (const _ of ctx.req);
  if (ctx.get("If-None-Match") !== "") {
    ctx.status = 304;
    return;
  }
  ctx.type = "application/json";
  ctx.body = bodyOf(Number(new URLSearchParams(ctx.querystring).get("size") ?? 0));
});
const server = app.listen(0, "127.0.0.1", () => process.send({ listens: `http://127.0.0.1:${server.address().port}` }));
// Never close idle connections: a request could be on its way over one of them.
server.keepAliveTimeout = 0;
process.once("disconnect", () => process.exit(0));
process.once("SIGTERM", () => process.exit(0));

function bodyOf(size) {
  const body = bodies.get(size) ?? Buffer.alloc(size, " ");
  bodies.set(size, body);
  return body;
}
