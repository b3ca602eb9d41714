// The console in Chromium, as a person has it: opened by its link, with all that goes wrong in the page noted.
import {createRequire} from 'node:module';
import {readFile} from 'node:fs/promises';
import {chromium} from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const widths = [[360, 740], [1280, 800], [3840, 2160]];

// ways are how one looks at a page in a language: in both themes at three widths at night, and on each change so that every two of width, theme and language meet.
const ways = (language) => ['dark', 'light'].map((theme, n) => [theme, widths.filter((_, k) => process.env.JUNCTION_INTEGRATION_MATRIX || (k + n + (language === 'en')) % 2 === 0)]);

// looked says what of the page has no room, and which texts are not in its language. It runs in the page.
async function looked() {
  const found = [];
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) {
    const wide = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.quiet')).slice(0, 3).map((one) => one.outerHTML.slice(0, 120));
    found.push(`${over} pixels wider than the page: ${wide.join(' ')}`);
  }
  for (const one of document.querySelectorAll('main h1, main h2, main h3')) {
    if (one.offsetHeight > 150 || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).textOverflow !== 'ellipsis' && getComputedStyle(one).overflowX === 'visible') found.push(`a heading without room: ${one.textContent}`);
  }
  for (const one of document.querySelectorAll('header .views, .waterfall-row, .waterfall-time')) {
    if (one.scrollWidth > one.clientWidth + 1) found.push(`without room: ${one.className}: ${one.textContent.slice(0, 80)}`);
  }
  for (const one of document.querySelectorAll('.ins-sections [aria-current]')) {
    const [link, all] = [one.getBoundingClientRect(), one.parentElement.getBoundingClientRect()];
    if (link.left < all.left - 1 || link.right > all.right + 1) found.push(`the name of the section is out of sight: ${one.textContent}`);
  }
  const own = document.documentElement.lang.startsWith('zh') ? 'zh' : 'en';
  const words = async (language) => Object.values((await import(new URL(`words/${language}.js`, document.baseURI))).default);
  const here = new Set(await words(own));
  const foreign = (await words(own === 'zh' ? 'en' : 'zh')).filter((text) => !here.has(text) && /[\p{Lu}\s]/u.test(text)); // one small word may be anybody's
  const exact = new Set(foreign);
  const patterns = foreign.filter((text) => text.includes('{') && text.replace(/\{\w+\}/g, '').length > 12)
    .map((text) => new RegExp(`^${text.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`, 's'));
  const isForeign = (text) => (own === 'en' ? /\p{Script=Han}/u.test(text) : exact.has(text) || patterns.some((pattern) => pattern.test(text)));
  const theirs = '.choices, pre, code, .tree, bdi, .ins-name, .ins-about, .ins-linked, .ins-head h2, .ins-ask h2, .ins-ask .form-body'; // what servers and clients wrote
  const check = (text, where) => {
    const one = text?.trim();
    if (one && where.checkVisibility() && !where.closest(theirs) && isForeign(one)) found.push(`not in ${own}: ${one}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) check(texts.currentNode.data, texts.currentNode.parentElement);
  for (const one of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) {
    for (const name of ['aria-label', 'title', 'placeholder', 'alt']) check(one.getAttribute(name), one);
  }
  return [...new Set(found)];
}

/** follow goes to the address with a hash, as a link does; the page has heard of it when this ends. */
export const follow = (page, hash) => page.evaluate((where) => new Promise((done) => {
  const before = location.href;
  location.hash = where;
  if (location.href === before) done();
  else addEventListener('hashchange', () => setTimeout(done), {once: true});
}), hash);

/** drawn waits until what changed before is drawn. */
export const drawn = (page) => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); }));

/** looking are ways to look at a page, which note in faults what is wrong: {judge, looks, rooms, speak, took}. */
export function looking(page, faults) {
  const judged = []; // milliseconds
  const said = new Set();
  const looker = {
    /** judge says what axe finds serious (in the first rows of a list, which are alike), what is wider than the page, what has no room, and what is in another language. */
    async judge(what) {
      const began = performance.now();
      await drawn(page); // what is judged is what was drawn: observers of sizes have run
      if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(axe);
      const found = await page.evaluate(async () => {
        const isDark = document.documentElement.dataset.theme === 'dark'; // which changes nothing but colours
        const {violations} = await window.axe.run({exclude: [['.traffic-row:nth-child(n+10)'], ['.ins-entry:nth-child(n+10)'], ['tbody tr:nth-child(n+10)']]}, {resultTypes: ['violations'], ...(isDark && {runOnly: ['color-contrast']})});
        return violations.filter(({impact}) => ['serious', 'critical'].includes(impact)).map(({id, nodes}) => `axe: ${id}: ${nodes.slice(0, 3).map(({html}) => html.slice(0, 200)).join(' ')}`);
      });
      found.push(...await page.evaluate(looked));
      for (const one of found) {
        const known = `${what.replace(/ [^ ]*$/, '')}: ${one}`; // however one looks at it
        if (!said.has(known)) faults.push(`${what}: ${one}`);
        said.add(known);
      }
      judged.push(performance.now() - began);
    },
    /** looks calls f in the ways of both languages. */
    async looks(f) {
      for (const language of ['zh', 'en']) {
        await looker.speak(language);
        for (const [theme, sizes] of ways(language)) {
          await page.locator('.choices select').nth(1).selectOption(theme);
          for (const [width, height] of sizes) {
            await page.setViewportSize({width, height});
            await f(`${width}-${theme}-${language}`);
          }
        }
      }
      await page.setViewportSize({width: 1280, height: 800});
    },
    /** rooms judges each of the states that the page can be in, which open brings about, in all these ways. */
    async rooms(states, after = async () => {}) {
      for (const language of ['zh', 'en']) {
        await looker.speak(language);
        for (const [name, open] of states) {
          await page.setViewportSize({width: 1280, height: 800});
          await page.evaluate(() => document.querySelector('dialog[open]')?.close());
          await open().catch((error) => { throw new Error(`${name} in ${language}: ${error.message}`, {cause: error}); });
          for (const [theme, sizes] of ways(language)) {
            await page.locator('.choices select').nth(1).evaluate((select, value) => { select.value = value; select.dispatchEvent(new Event('change')); }, theme);
            for (const [width, height] of sizes) {
              await page.setViewportSize({width, height});
              await looker.judge(`${name} ${width}-${theme}-${language}`);
              await after(`${name}-${width}-${theme}-${language}`);
            }
          }
          console.log(`saw ${name} in ${language}, ${looker.took()}`);
        }
      }
      await page.setViewportSize({width: 1280, height: 800});
    },
    async speak(language) {
      await page.evaluate(() => document.querySelector('dialog[open]')?.close());
      const choice = page.locator('.choices select').nth(0);
      if (await choice.inputValue() !== language) await choice.selectOption(language);
    },
    /** took says how long it took to judge. */
    took: () => `${judged.length} looks, ${(judged.reduce((sum, one) => sum + one, 0) / judged.length || 0).toFixed(0)} ms each`,
  };
  return looker;
}

/** enter opens the link of a console: {page, context, faults, judge, looks, rooms, close}. */
export async function enter(link, program, options = {}) {
  const browser = await chromium.launch({executablePath: program, args: ['--no-sandbox', '--disable-gpu']});
  const context = await browser.newContext({viewport: {width: 1280, height: 800}, locale: 'en-US', ...options});
  const origin = new URL(link).origin;
  const faults = [];
  const watch = (page) => {
    page.on('pageerror', (fault) => faults.push(`script failed: ${fault.stack}`));
    page.on('console', (message) => message.type() === 'error' && !/status of 4\d\d/.test(message.text()) && faults.push(`console: ${message.text()}`));
    page.on('dialog', (dialog) => { faults.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol)) faults.push(`a request to ${url.href}`);
    });
  };
  const page = await context.newPage();
  watch(page);
  await page.goto(link);
  await page.waitForSelector('main h1');
  return {
    page, context, faults, ...looking(page, faults),
    close: () => browser.close(),
  };
}
