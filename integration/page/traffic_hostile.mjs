// Looks at messages whose every text is an attack on whoever shows them, in the view of traffic: node traffic_hostile.mjs
// CHROMIUM LINK. It prints what it saw, FAULT and what was wrong, and at last: end.
import {readFileSync} from 'node:fs';
import {enter, follow} from './console.mjs';

const [program, link] = process.argv.slice(2);
const payloads = JSON.parse(readFileSync(new URL('payloads.json', import.meta.url), 'utf8'));
const {page, context, faults, judge, close} = await enter(link, program);
page.setDefaultTimeout(20_000);

const each = 9; // messages of a payload, one of which is no row: that of headers
const say = (what) => console.log(`saw ${what}`);
const is = (what, got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
  say(what);
};
const foreign = 'main script, main iframe, main object, main embed, main style, main form[action], main img, main video, main audio, main [onload], main [onerror], main [onfocus], main base, main meta, main link, main svg, main a[href^="java" i]';
const safe = async (where) => {
  await page.waitForTimeout(300); // what was to run does so by then
  is(`nothing ran in ${where}`, await page.evaluate(() => [window.ran === undefined, {}.ran === undefined, window.stopped]), [true, true, []]);
  is(`no element of theirs is in ${where}`, await page.locator(foreign).count(), 0);
};
const hash = (address) => follow(page, address);

// written serves a text to an empty page as if it were a document, without any policy of the console's, and says what ran.
async function written(name, type, body) {
  const other = await context.newPage();
  const asked = [];
  await other.route('**/*', (route) => {
    const {pathname, hostname} = new URL(route.request().url());
    if (hostname === 'saved.example' && pathname === `/${name}`) return route.fulfill({body, contentType: type});
    asked.push(route.request().url());
    return route.abort();
  });
  other.on('dialog', (dialog) => { asked.push(dialog.message()); dialog.dismiss(); });
  await other.goto(`http://saved.example/${name}`);
  await other.waitForTimeout(300);
  is(`nothing runs in ${name} as ${type}`, [await other.evaluate(() => window.ran === undefined), asked.filter((url) => !url.endsWith('/favicon.ico'))], [true, []]);
  const found = await other.evaluate(() => ({elements: [...new Set([...document.querySelectorAll('*')].map((one) => one.localName))].sort(), broken: document.querySelectorAll('parsererror').length,
    handlers: [...document.querySelectorAll('*')].filter((one) => [...one.attributes].some(({name: key}) => key.startsWith('on') || key.endsWith('href') || key === 'src')).length, text: document.documentElement.textContent}));
  await other.close();
  return found;
}

try {
  await page.evaluate(() => {
    window.stopped = [];
    document.addEventListener('securitypolicyviolation', (event) => window.stopped.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  await page.waitForSelector('[data-seq]');
  const {first, last} = await page.evaluate(async () => (await fetch('api/v1/traffic?limit=1')).json());
  is('all messages are there', last - first + 1, each * payloads.length);

  // both forms of the stream, with each row in the document once
  for (const view of ['', '?view=list']) {
    await hash(`#/traffic/${view}`);
    await page.waitForSelector(view ? '[role=grid]' : '[role=listbox]');
    const text = await page.evaluate(async () => {
      const stream = document.querySelector('.traffic-stream');
      const seen = new Map();
      for (let top = 0; top <= stream.scrollHeight; top += 300) {
        stream.scrollTop = top;
        for (let n = 0; n < 200; n++) {
          for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame); // in which rows are drawn
          if (!document.querySelector('.traffic-row.is-empty')) break;
        }
        for (const row of document.querySelectorAll('[data-seq]')) seen.set(row.dataset.seq, row.textContent);
      }
      return [...seen.values()];
    });
    is('each row was in the document', text.length, (each - 1) * payloads.length);;
    const joined = text.join('\n');
    is('the rows show all texts', payloads.filter((one) => !joined.includes(one)), []);
    await safe(`the stream${view}`);
  }
  await judge('hostile rows');

  // each message, with its call, the notes of it, the other side, and as it was sent: first by its address, as no row leads
  // to notes of headers, then by the keys
  const panel = async (seq) => {
    const text = await page.evaluate(async (n) => {
      const node = document.querySelector('.traffic-panel');
      const wait = () => new Promise((done) => setTimeout(done, 5));
      for (let k = 0; k < 2000 && (node.hidden || node.hasAttribute('aria-busy') || document.querySelector('.traffic-stream').getAttribute('aria-busy')); k++) await wait();
      for (const one of node.querySelectorAll('details')) one.open = true;
      const shown = node.textContent;
      [...node.querySelectorAll('[role=group] button')].at((n % 2) - 1)?.click(); // as a tree, and as it is
      return shown + node.textContent;
    }, seq);
    if (!text.includes(payloads[Math.floor((seq - first) / each)])) missing.set(seq, text.slice(0, 300));
    const got = await page.evaluate(([which]) => [window.ran === undefined, window.stopped, document.querySelectorAll(which).length], [foreign]);
    if (JSON.stringify(got) !== '[true,[],0]') throw new Error(`message ${seq}: ${JSON.stringify(got)}`);
  };
  const missing = new Map();
  for (let seq = first + 1; seq <= last; seq += each * 6) {
    await hash(`#/traffic/${seq}`);
    await panel(seq);
  }
  await page.keyboard.press('Escape');
  await page.locator('.traffic-stream').press('Home');
  await page.locator(`#message-${first}.is-selected`).waitFor();
  await page.keyboard.press('Enter');
  for (let n = 0; n < (each - 1) * payloads.length; n += 3) { // of each call some, of all calls each kind
    await panel(await page.evaluate(() => Number(/^#\/traffic\/(\d+)/.exec(location.hash)[1])));
    for (let step = 0; step < 3; step++) await page.locator('.traffic-stream').press('ArrowDown');
  }
  is('each message shows its text', [...missing], []);
  await safe('a message');
  await judge('a hostile message');
  if (process.env.SHOTS) await page.screenshot({path: `${process.env.SHOTS}/hostile-traffic.png`});

  // filters: typed, chosen, and as somebody's link has them
  for (const payload of payloads) {
    await page.locator('[data-filter]').fill(payload);
    const query = new URLSearchParams(['text', 'client', 'server', 'method', 'name', 'pid', 'call', 'kind', 'errors', 'view', 'ping', payload].map((key) => [key, payload]));
    await hash(`#/traffic/?${query}`);
    await hash(`#/traffic/${encodeURIComponent(payload)}`);
    await hash(`#/traffic/${payload}?${payload}`);
    await hash(`#/traffic/?client=${payload}&text=${payload}`);
    await page.waitForTimeout(20);
  }
  await safe('the filter of an address');
  await hash('#/traffic');
  await page.waitForSelector('[data-seq]');
  for (const select of await page.locator('.traffic select').all()) {
    for (const value of await select.locator('option').evaluateAll((all) => all.map((one) => one.value))) await select.evaluate((node, one) => { node.value = one; node.dispatchEvent(new Event('change')); }, value);
  }
  await safe('the choices');
  await hash('#/traffic');

  // what is exported, as a file that somebody opens
  const exported = await page.evaluate(async () => {
    const all = {};
    for (const format of ['svg', 'mermaid', 'jsonl', 'har']) {
      const answer = await fetch(`api/v1/traffic/export?format=${format}`);
      all[format] = {body: await answer.text(), type: answer.headers.get('Content-Type'), kept: answer.headers.get('Content-Disposition').startsWith('attachment'), sniffed: answer.headers.get('X-Content-Type-Options')};
    }
    return all;
  });
  for (const [format, {kept, sniffed}] of Object.entries(exported)) is(`${format} is a file and nothing else`, [kept, sniffed], [true, 'nosniff']);
  for (const type of ['image/svg+xml', 'text/html']) {
    const {elements, broken, handlers, text} = await written('traffic.svg', type, exported.svg.body);
    is(`the picture as ${type} has no element of theirs`, [elements.filter((one) => !['html', 'head', 'body', 'svg', 'style', 'g', 'title', 'rect', 'line', 'path', 'text'].includes(one)), broken, handlers], [[], 0, 0]);
    if (!text.includes('<script>window.ran=1</script>')) throw new Error(`the picture as ${type} does not show what was written: ${text.slice(0, 300)}`);
  }
  const mermaid = await written('traffic.mmd', 'text/html', exported.mermaid.body); // a page that draws it takes it from its text
  is('the diagram has no element', mermaid.elements, ['body', 'head', 'html']);
  is('the diagram has nothing but its own lines', exported.mermaid.body.split('\n').filter((line) => !/^(sequenceDiagram| {4}(participant|actor) p\d+ as [\p{L}\p{Nd} \/.,_()='!?*…⚠·→#;-]+| {4}p\d+(->>|-->>|-\))p\d+: [\p{L}\p{Nd} \/.,_()='!?*…⚠·→#;-]+| {4}Note over p\d+(,p\d+)?: [\p{L}\p{Nd} \/.,_()='!?*…⚠·→#;-]+|)$/u.test(line)), []);
  is('each exported line is one message', exported.jsonl.body.trim().split('\n').map((line) => JSON.parse(line).seq).length, each * payloads.length);
  is('the archive is JSON', JSON.parse(exported.har.body).log.entries.length > payloads.length, true);
} catch (error) {
  console.log(`FAULT ${error.stack}`);
  if (process.env.SHOTS) await page.screenshot({path: `${process.env.SHOTS}/failed-hostile-traffic.png`});
}
for (const fault of faults) console.log(`FAULT ${fault}`);
console.log('end');
await close();
