// How fast the stream of 100,000 messages is: node traffic_speed.mjs LINK CHROMIUM
// prints one line of JSON.
import {readFileSync} from 'node:fs';
import {chromium} from 'playwright-core';

const [link, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
const page = await browser.newPage({viewport: {width: 1280, height: 900}});
const faults = [];
page.on('pageerror', (error) => faults.push(error.message));

// Before the page's own scripts: when the first row is there.
await page.addInitScript(() => {
  new MutationObserver((_, watching) => {
    if (!document.querySelector('[data-seq]')) return;
    watching.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.firstRow = performance.now(); }));
  }).observe(document, {childList: true, subtree: true});
});
// tasks are the times that the page's thread worked at its tasks, in milliseconds, the longest first. It is the processor's
// time: how long a task takes by the clock depends on what else the machine does.
function tasks(trace) {
  const {traceEvents} = JSON.parse(trace);
  const threads = new Set(traceEvents.filter(({name, args}) => name === 'thread_name' && args.name === 'CrRendererMain').map(({pid, tid}) => `${pid}/${tid}`));
  return traceEvents.filter(({name, tdur, pid, tid}) => name.endsWith('RunTask') && tdur && threads.has(`${pid}/${tid}`)).map(({tdur}) => tdur / 1000).sort((a, b) => b - a);
}

const work = (all) => all.reduce((sum, one) => sum + one, 0);

await page.goto(link);
await page.waitForSelector('[data-seq]');
await browser.startTracing(page, {categories: ['toplevel', 'disabled-by-default-devtools.timeline']});
await page.reload(); // the first page is the link's, which leads on
await page.waitForFunction(() => window.firstRow);
const firstPaint = await page.evaluate(() => window.firstRow);
const firstWork = work(tasks((await browser.stopTracing()).toString()));

// scroll goes through the stream as a person does, with the wheel, and with the bar.
const scroll = () => page.evaluate(async () => {
  const stream = document.querySelector('.traffic-stream');
  const frames = [];
  let last = 0;
  let rows = 0;
  const frame = () => new Promise((done) => requestAnimationFrame((now) => {
    if (last) frames.push(now - last);
    last = now;
    rows = Math.max(rows, document.querySelectorAll('.traffic-row').length);
    done();
  }));
  for (let n = 0; n < 180; n++) { // the wheel
    stream.scrollTop -= 240;
    await frame();
  }
  for (let n = 0; n < 120; n++) { // the bar, to all places
    stream.scrollTop = (n * 7919 % 120) / 120 * stream.scrollHeight;
    await frame();
  }
  frames.sort((a, b) => a - b);
  return {frames: frames.length, slowestFrame: frames.at(-1), frame99: frames[Math.floor(frames.length * 0.99)], rows};
});

const forms = {};
for (const form of ['diagram', 'list']) {
  await browser.startTracing(page, {categories: ['toplevel', 'disabled-by-default-devtools.timeline']});
  forms[form] = await scroll();
  const all = tasks((await browser.stopTracing()).toString());
  Object.assign(forms[form], {tasks: all.length, slowestTask: all[0] ?? 0, work: work(all)});
  await page.keyboard.press('d');
}

// What is at the top, in the middle and at the end, is that and nothing else.
const places = await page.evaluate(async () => {
  const stream = document.querySelector('.traffic-stream');
  const found = [];
  for (const part of [0, 0.5, 1]) {
    stream.scrollTop = part * stream.scrollHeight;
    for (let n = 0; n < 1000; n++) {
      await new Promise((done) => setTimeout(done, 20));
      const head = document.querySelector('.traffic-lanes').offsetHeight;
      const top = stream.getBoundingClientRect().top + head;
      const bottom = stream.getBoundingClientRect().bottom;
      const rows = [...document.querySelectorAll('[data-seq]')].filter((row) => row.getBoundingClientRect().top >= top - 1 && row.getBoundingClientRect().bottom <= bottom + 1);
      if (rows.length * rows[0]?.offsetHeight > stream.clientHeight - head - 80) {
        const numbers = rows.map((row) => Number(row.dataset.seq)).sort((a, b) => a - b);
        found.push([numbers[0], numbers.at(-1), numbers.length]);
        break;
      }
    }
  }
  return found;
});

const {usedHeap} = await page.evaluate(() => ({usedHeap: performance.memory.usedJSHeapSize}));
const session = await browser.newBrowserCDPSession();
// Of the page's process, without the programs that it shares with others.
const {processInfo} = await session.send('SystemInfo.getProcessInfo');
const memory = Math.max(0, ...processInfo.filter(({type}) => type === 'renderer').map(({id}) => {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))[1]) * 1024;
  } catch {
    return 0; // not on Linux
  }
}));
console.log(JSON.stringify({firstPaint, firstWork, forms, places, usedHeap, memory, faults}));
await browser.close();
