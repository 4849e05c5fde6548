// node's event loop, its thread pool, workers, child processes, and a server with its clients: loops.js PART prints what came
// out, the same in each run.
'use strict';
const assert = require('assert');
const child_process = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

function sleep(ms) { return new Promise((resolve) => setTimeout(resolve, ms)); }

async function order() {
  const seen = [];
  setTimeout(() => seen.push('timeout'), 0);
  setImmediate(() => seen.push('immediate'));
  process.nextTick(() => seen.push('tick'));
  queueMicrotask(() => seen.push('microtask'));
  seen.push('main');
  await sleep(30);
  console.log(seen.slice(0, 3).join(), seen.slice(3).sort().join());
  for (let i = 0; i < 20; i++) await sleep(2);
}

async function pool() {
  const keys = await Promise.all(Array.from({ length: 16 }, (_, i) => new Promise((resolve, reject) =>
    crypto.pbkdf2('word', 'salt' + i, 2000, 16, 'sha256', (error, key) => error ? reject(error) : resolve(key.toString('hex'))))));
  console.log(keys.join());
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'loops-'));
  const names = Array.from({ length: 50 }, (_, i) => path.join(folder, 'file' + i));
  await Promise.all(names.map((name, i) => fs.promises.writeFile(name, 'x'.repeat(i * 100))));
  const texts = await Promise.all(names.map((name) => fs.promises.readFile(name, 'utf8')));
  console.log(texts.map((text) => text.length).join());
  await assert.rejects(fs.promises.readFile(path.join(folder, 'none')), { code: 'ENOENT' });
  fs.rmSync(folder, { recursive: true });
}

function work() {  // in a worker: adds, and sleeps in a futex until woken
  const shared = new Int32Array(workerData.shared);
  for (let i = 0; i < 10000; i++) Atomics.add(shared, 0, 1);
  const woken = Atomics.wait(shared, 1, 0, 20000);
  parentPort.once('message', (message) => { parentPort.postMessage([woken === 'timed-out', message * 2]); });
}

async function workers() {
  const shared = new SharedArrayBuffer(8);
  const words = new Int32Array(shared);
  const all = Array.from({ length: 4 }, () => new Worker(__filename, { workerData: { shared } }));
  const exits = all.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
  while (Atomics.load(words, 0) < 40000) await sleep(1);
  Atomics.store(words, 1, 1);
  Atomics.notify(words, 1);
  const answers = await Promise.all(all.map((worker, i) => new Promise((resolve) => {
    worker.once('message', resolve);
    worker.postMessage(i);
  })));
  console.log(words[0], JSON.stringify(answers), (await Promise.all(exits)).join());
  const endless = new Worker('while (true);', { eval: true });
  await new Promise((resolve) => endless.once('online', resolve));
  console.log('terminated', await endless.terminate());
  const failing = new Worker('throw new Error("thrown in a worker")', { eval: true });
  console.log(await new Promise((resolve) => failing.once('error', (error) => resolve(error.message))));
}

function ended(child) { return new Promise((resolve) => child.once('close', (code, signal) => resolve([code, signal]))); }

async function children() {
  console.log(child_process.execFileSync('echo', ['sync'], { encoding: 'utf8' }).trim());
  console.log(JSON.stringify(child_process.spawnSync('sh', ['-c', 'cat; exit 3'], { input: 'through a pipe' }).status));
  for (let i = 0; i < 10; i++) assert.deepStrictEqual(await ended(child_process.spawn('true')), [0, null]);
  const sleeper = child_process.spawn('sleep', ['60']);
  sleeper.kill('SIGTERM');
  console.log(await ended(sleeper));
  const copy = child_process.fork(__filename, ['answer']);
  const answer = await new Promise((resolve) => { copy.once('message', resolve); copy.send(20); });
  console.log(answer, await ended(copy));
  await new Promise((resolve) => child_process.exec('exit 5', (error) => { console.log(error.code); resolve(); }));
  const missing = child_process.spawn('/no/such/program');
  console.log(await new Promise((resolve) => missing.once('error', (error) => resolve(error.code))));
}

function answer() { process.once('message', (n) => { process.send(n * 2); process.disconnect(); }); }

function get(port, name, agent) {
  return new Promise((resolve, reject) => http.get({ host: '127.0.0.1', port, path: '/' + name, agent }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (more) => { text += more; }).on('end', () => resolve(text));
  }).on('error', reject));
}

async function serve() {
  const server = http.createServer((request, response) => {
    const hash = crypto.createHash('sha256').update(request.url).digest('hex');
    setTimeout(() => response.end(hash.repeat(100)), request.url.length % 5);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const texts = await Promise.all(Array.from({ length: 300 }, (_, i) => get(server.address().port, 'page' + i, agent)));
  console.log(crypto.createHash('sha256').update(texts.join()).digest('hex'));
  agent.destroy();
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(get(1, 'refused'), { code: 'ECONNREFUSED' });
}

async function signals() {
  const seen = [];
  const awake = setInterval(() => 0, 1000);
  for (const name of ['SIGUSR2', 'SIGHUP', 'SIGTERM']) {
    const caught = new Promise((resolve) => process.once(name, () => { seen.push(name); resolve(); }));
    process.kill(process.pid, name);
    await caught;
  }
  console.log(seen.join());
  process.kill(process.pid, 'SIGTERM');
  await sleep(60000);
  clearInterval(awake);
}

function exits() {  // with workers running, a pool at work and a server open
  new Worker('setInterval(() => 0, 1)', { eval: true });
  for (let i = 0; i < 8; i++) crypto.pbkdf2('word', 'salt', 100000, 16, 'sha256', () => 0);
  http.createServer().listen(0, '127.0.0.1', () => process.exit(42));
}

function throws() { setTimeout(() => { throw new Error('uncaught'); }, 5); }
function aborts() { setTimeout(() => process.abort(), 5); }

const parts = { order, pool, workers, children, answer, serve, signals, exits, throws, aborts };
if (isMainThread) parts[process.argv[2]](); else work();
