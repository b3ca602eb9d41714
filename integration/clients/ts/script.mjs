// The script engine of the TypeScript probing clients. See ../../README.md for the
// flags, the steps and the shape of what is printed. A client hands run() a function that
// connects and returns { revision, server, capabilities, instructions, list, call, read, … }.

import { existsSync, writeFileSync } from 'node:fs';

export async function run(connect) {
  console.log = console.debug = console.info = console.error; // stdout is for the lines of the script
  const flags = parseFlags(process.argv.slice(2));
  const probe = new Probe(flags.answers);
  let peer;
  const began = Date.now();
  try {
    peer = await connect(flags, probe);
    print(probe, 0, 'connect', began, {
      ok: true,
      revision: peer.revision,
      server: peer.server,
      capabilities: peer.capabilities,
      instructions: peer.instructions,
    });
  } catch (err) {
    print(probe, 0, 'connect', began, { ok: false, error: describe(err) });
    process.exit(1);
  }
  for (const [i, step] of flags.script.entries()) {
    const start = Date.now();
    print(probe, i + 1, step.op, start, await perform(peer, probe, step));
  }
  await Promise.race([peer.close().catch(() => {}), delay(3000)]);
  process.exit(0);
}

function parseFlags(argv) {
  const flags = { script: [{ op: 'list' }], answers: {} };
  for (let i = 0; i < argv.length; i++) {
    switch (argv[i]) {
      case '--http':
      case '--sse':
        flags[argv[i].slice(2)] = argv[++i];
        break;
      case '--revision':
        flags.revision = argv[++i];
        break;
      case '--script':
        flags.script = JSON.parse(argv[++i]);
        break;
      case '--answers':
        flags.answers = JSON.parse(argv[++i]);
        break;
      case '--stdio':
        flags.stdio = argv.slice(i + 1);
        return flags;
      default:
        throw new Error(`unknown flag ${argv[i]}`);
    }
  }
  return flags;
}

// Probe keeps what came from the server, and answers what the server asks.
export class Probe {
  constructor(answers) {
    this.answers = answers;
    this.fresh = []; // since the last printed line
    this.unclaimed = []; // not yet taken by waitNotification
    this.waiters = [];
  }

  event(method, params) {
    this.fresh.push({ method, params });
    const waiter = this.waiters.findIndex((w) => w.method === method);
    if (waiter >= 0) this.waiters.splice(waiter, 1)[0].resolve(params ?? {});
    else this.unclaimed.push({ method, params });
  }

  wait(method, timeoutMs) {
    const i = this.unclaimed.findIndex((e) => e.method === method);
    if (i >= 0) return Promise.resolve(this.unclaimed.splice(i, 1)[0].params ?? {});
    return new Promise((resolve, reject) => {
      const waiter = { method, resolve };
      this.waiters.push(waiter);
      setTimeout(() => {
        const at = this.waiters.indexOf(waiter);
        if (at < 0) return;
        this.waiters.splice(at, 1);
        reject(new Error(`no ${method} within ${timeoutMs} ms`));
      }, timeoutMs);
    });
  }

  elicit(params) {
    this.event('elicitation/create', { message: params.message, mode: params.mode });
    const answer = this.answers.elicit ?? { action: 'decline' };
    if (params.mode === 'url') return { action: answer.action };
    const fields = Object.keys(params.requestedSchema?.properties ?? {});
    if ((answer.decline ?? []).some((f) => fields.includes(f))) return { action: 'decline' };
    if (answer.action !== 'accept') return { action: answer.action };
    const content = {};
    for (const f of fields) if (f in (answer.content ?? {})) content[f] = answer.content[f];
    return { action: 'accept', content };
  }

  sample(params) {
    const first = [params.messages?.[0]?.content].flat()[0];
    this.event('sampling/createMessage', { text: first?.text });
    return {
      role: 'assistant',
      model: 'canned',
      stopReason: 'endTurn',
      content: { type: 'text', text: this.answers.sample?.text ?? 'canned' },
    };
  }

  // capabilities are what the client declares: all of them, or those that the answers name.
  capabilities() {
    const declares = (name) => (this.answers.declare ?? ['elicitation', 'sampling', 'roots']).includes(name);
    const elicitation = { ...(declares('elicitation') && { form: {} }), ...(declares('url') && { url: {} }) };
    return {
      ...(Object.keys(elicitation).length > 0 && { elicitation }),
      ...(declares('sampling') && { sampling: {} }),
      ...(declares('roots') && { roots: { listChanged: true } }),
    };
  }

  roots() {
    this.event('roots/list', {});
    return { roots: this.answers.roots ?? [] };
  }
}

// perform performs a step, again and again where it says until what its result has.
async function perform(peer, probe, step) {
  for (const end = Date.now() + (step.timeoutMs ?? 20000); ; await delay(100)) {
    const out = await performOnce(peer, probe, step);
    if (JSON.stringify(out).includes(step.until ?? '') || Date.now() > end) return out;
  }
}

async function performOnce(peer, probe, step) {
  try {
    return { ok: true, ...(await perform1(peer, probe, step)) };
  } catch (err) {
    return { ok: false, error: describe(err) };
  }
}

async function perform1(peer, probe, step) {
  const timeout = step.timeoutMs ?? 20000;
  switch (step.op) {
    case 'list':
      return list(peer, step);
    case 'call':
      return tool(await peer.call(step, { timeout }), step);
    case 'cancelCall': {
      const abort = new AbortController();
      setTimeout(() => abort.abort('cancelled by the script'), step.afterMs ?? 200);
      try {
        return { cancelled: false, ...tool(await peer.call(step, { timeout, signal: abort.signal }), step) };
      } catch (err) {
        if (!abort.signal.aborted) throw err;
        return { cancelled: true };
      }
    }
    case 'read': {
      const r = await peer.read(step.uri, { timeout });
      return { text: r.contents.map((c) => c.text ?? `blob:${c.blob.length}`).join('\n'), uris: r.contents.map((c) => c.uri), ...whole(step, r) };
    }
    case 'prompt': {
      const r = await peer.prompt(step.name, step.arguments ?? {}, { timeout });
      return { text: r.messages.map((m) => m.content.text ?? m.content.type).join('\n'), ...whole(step, r) };
    }
    case 'complete': {
      const r = await peer.complete(step.ref, step.argument, { timeout });
      return { values: r.completion.values };
    }
    case 'parallel':
      return { results: await Promise.all(step.steps.map((s) => perform(peer, probe, s))) };
    case 'waitNotification':
      return { params: await waitAll(probe, step) };
    case 'sleep':
      return delay(step.ms).then(() => ({}));
    case 'meet':
      return meet(step, timeout);
    case 'ping':
    case 'setLevel':
    case 'subscribe':
    case 'unsubscribe':
      await peer[step.op](step.level ?? step.uri, { timeout });
      return {};
    default:
      throw new Error(`unknown op ${step.op}`);
  }
}

async function waitAll(probe, step) {
  const all = [];
  while (all.length < (step.count ?? 1)) all.push(await probe.wait(step.method, step.timeoutMs ?? 20000));
  return all;
}

// meet tells another client that this one has come here, by a file, and waits for its file.
async function meet(step, timeout) {
  writeFileSync(step.make, '');
  for (const end = Date.now() + timeout; !existsSync(step.wait); await delay(10)) {
    if (Date.now() > end) throw new Error(`${step.wait} is not there after ${timeout} ms`);
  }
  return {};
}

// whole is a result as the SDK returns it, where the step asks for it.
function whole(step, result) {
  return step.whole ? { whole: result } : {};
}

async function list(peer, step) {
  const out = { errors: {} };
  const all = {};
  for (const what of ['tools', 'resources', 'templates', 'prompts']) {
    try {
      all[what] = await peer.list(what);
      out[what] = all[what].map((x) => x.uriTemplate ?? x.uri ?? x.name);
    } catch (err) {
      out[what] = null;
      out.errors[what] = describe(err);
    }
  }
  return { ...out, ...whole(step, all) };
}

function tool(r, step) {
  return {
    ...whole(step, r),
    isError: r.isError ?? false,
    text: (r.content ?? []).map((c) => c.text ?? c.resource?.text ?? '').join('\n'),
    types: (r.content ?? []).map((c) => c.type),
    structured: r.structuredContent ?? null,
  };
}

function describe(err) {
  return { code: typeof err?.code === 'number' ? err.code : 0, message: String(err?.message ?? err), data: err?.data };
}

function print(probe, step, op, began, out) {
  const events = probe.fresh;
  probe.fresh = [];
  process.stdout.write(JSON.stringify({ step, op, ms: Date.now() - began, ...out, events }) + '\n');
}

export function delay(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
