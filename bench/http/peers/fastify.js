// The same service on node: fastify and better-sqlite3 (WAL, synchronous=FULL, so a commit is on disk before its answer).
// usage: node fastify.js PORT DIRECTORY each|turn        (NODE_PATH names the packages)
//   each  one transaction an add, as people write it        turn  all adds of a turn of the event loop in one
const [, , port, dir, way] = process.argv;
const Database = require('better-sqlite3');
const db = new Database(require('path').join(dir, 'count.db'));
db.pragma('journal_mode=WAL');
db.pragma('synchronous=FULL');
db.exec('create table count(id integer primary key, value integer); insert into count values(1, 0)');
const addBy = db.prepare('update count set value = value + ? where id = 1 returning value');
const read = db.prepare('select value from count where id = 1');
const addAll = db.transaction(list => list.map(by => addBy.get(by).value));

const app = require('fastify')({ logger: false, keepAliveTimeout: 0 });
const json = reply => reply.header('content-type', 'application/json');
const small = JSON.stringify('0'.repeat(64));
const streams = new Set();
function publish(value) {
  const event = `data: ${value}\n\n`;
  for (const stream of streams) stream.write(event);
}

app.get('/views/small', (request, reply) => json(reply).send(small));
app.get('/views/total', (request, reply) => {
  if (!(request.headers.accept || '').includes('text/event-stream')) return json(reply).send(String(read.get().value));
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
  reply.raw.write(`data: ${read.get().value}\n\n`);
  streams.add(reply.raw);
  request.raw.on('close', () => streams.delete(reply.raw));
});

const body = { schema: { body: { type: 'object', additionalProperties: false, properties: { by: { type: 'integer', minimum: 1, maximum: 1000, default: 1 } } } } };
let waiting = [];
function commitTurn() {
  const batch = waiting;
  waiting = [];
  const values = addAll(batch.map(one => one.by));
  batch.forEach((one, i) => one.done(values[i]));
  publish(values[values.length - 1]);
}
app.post('/inputs/add', body, (request, reply) => {
  if (way === 'each') {
    const [value] = addAll([request.body.by]);
    json(reply).send(String(value));
    publish(value);
    return;
  }
  return new Promise(resolve => {
    const done = value => { json(reply).send(String(value)); resolve(reply); };
    if (waiting.push({ by: request.body.by, done }) === 1) setImmediate(commitTurn);
  });
});
app.listen({ port: +port, host: '127.0.0.1', backlog: 16384 });
