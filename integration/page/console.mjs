// The console in Chromium, as a person has it: opened by its link, with all that goes wrong in the page noted.
import {createRequire} from 'node:module';
import {readFile} from 'node:fs/promises';
import {chromium} from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** enter opens the link of a console: {page, context, faults, axe, size, look, close}. */
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
    page, context, faults,
    /** judge says what axe finds serious, and what is wider than the page. */
    async judge(what) {
      await page.evaluate(axe);
      const {violations} = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
      for (const one of violations) if (['serious', 'critical'].includes(one.impact)) faults.push(`${what}: axe: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' ')}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (over > 0) faults.push(`${what}: ${over} pixels wider than the page`);
    },
    /** looks runs f for three widths, both themes and both languages. */
    async looks(f) {
      for (const [width, height, theme, language] of [[360, 740, 'dark', 'zh'], [1280, 800, 'light', 'en'], [3840, 2160, 'dark', 'en'], [360, 740, 'light', 'en'], [1280, 800, 'dark', 'zh']]) {
        await page.setViewportSize({width, height});
        await page.locator('.choices select').nth(0).selectOption(language);
        await page.locator('.choices select').nth(1).selectOption(theme);
        await f(`${width}-${theme}-${language}`);
      }
      await page.setViewportSize({width: 1280, height: 800});
      await page.locator('.choices select').nth(0).selectOption('en');
    },
    close: () => browser.close(),
  };
}
