// The page of a gateway's callers in Chromium, as a user without a mouse uses it: node team.mjs CHROMIUM ORIGIN PASSWORD CALL.
// It prints what it saw, FAULT and what was wrong, and at last: end.
import {execFile} from 'node:child_process';
import {createRequire} from 'node:module';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {chromium} from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const [program, origin, password, given] = process.argv.slice(2);
const command = JSON.parse(given);
const browser = await chromium.launch({executablePath: program, args: ['--no-sandbox', '--disable-gpu']});
const context = await browser.newContext({viewport: {width: 1280, height: 800}, locale: 'en-US', bypassCSP: false});
const page = await context.newPage();
page.setDefaultTimeout(20_000);
const faults = [];
page.on('pageerror', (fault) => faults.push(`script failed: ${fault.stack}`));
page.on('console', (message) => message.type() === 'error' && !/status of 4\d\d/.test(message.text()) && faults.push(`console: ${message.text()}`));
page.on('request', (request) => { if (!request.url().startsWith(origin)) faults.push(`a request elsewhere: ${request.url()}`); });

const say = (what) => console.log(`saw ${what}`);
const see = async (selector, text) => {
  await page.locator(selector, {hasText: text}).first().waitFor({state: 'visible'}).catch(async () => { throw new Error(`no ${selector} with ${text} in:\n${(await page.locator('body').innerText()).slice(0, 2000)}`); });
  say(text);
};
const call = (text) => new Promise((done) => {
  execFile(command[0], command.slice(1).map((word) => word.replace('TEXT', text)), {timeout: 60_000}, (error, stdout, stderr) => done(`${error?.code ?? 0} ${stdout}${stderr}`));
});
const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent?.trim());
const tabTo = async (text) => {
  for (let n = 0; n < 100; n++) {
    if ((await focused()) === text) return say(`the focus on ${text}`);
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab never comes to ${text}`);
};
// look judges the page in both themes, on a telephone and on a desk.
const look = async (name) => {
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({colorScheme});
    for (const [width, height] of [[360, 740], [1280, 800]]) {
      await page.setViewportSize({width, height});
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) faults.push(`${name} ${width}: ${over} pixels wider than the page`);
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await window.axe.run({resultTypes: ['violations']})).violations.filter(({impact}) => ['serious', 'critical'].includes(impact)).map(({id, nodes}) => `axe: ${id}: ${nodes[0].html.slice(0, 200)}`));
      faults.push(...found.map((one) => `${name} ${width} ${colorScheme}: ${one}`));
      if (process.env.SHOTS) await page.screenshot({path: join(process.env.SHOTS, `team-${name}-${width}-${colorScheme}.png`), fullPage: true});
    }
  }
};

try {
  await page.goto(`${origin}/team`);
  await see('h1', 'Log in to');
  await look('login');
  await page.keyboard.type('bob');
  await page.keyboard.press('Tab');
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
  await see('h2', 'Calls that wait for you');
  await see('p', 'No call waits for you.');

  const hostile = '<img src=x onerror=alert(1)>\u202E';
  const first = call(hostile);
  await see('article h3', 'echo of ours');
  await see('article pre', '<img src=x onerror=alert(1)>');
  const shown = await page.locator('article pre').innerText();
  if (shown.includes('\u202E')) faults.push(`a hidden character is in the arguments: ${JSON.stringify(shown)}`);
  say(JSON.stringify(shown));
  if (await page.locator('article img').count() > 0) faults.push('an argument became an element');
  await look('waiting');
  await tabTo('Approve');
  await page.keyboard.press('Enter');
  await see('[role=status]', 'Approved: echo of ours');
  const ran = await first;
  if (!ran.startsWith('0 ')) faults.push(`the approved call: ${ran}`);

  const second = call('two');
  await see('article pre', 'two');
  await page.locator('article input').last().focus();
  await page.keyboard.type('not today');
  const third = call('three');
  await see('article pre', 'three');
  if (await page.evaluate(() => document.activeElement.value) !== 'not today') faults.push('a call that came took the focus and what was typed');
  await tabTo('Refuse');
  await page.keyboard.press('Enter');
  await see('[role=status]', 'Refused: echo of ours');
  await page.waitForFunction(() => document.querySelectorAll('article').length === 1);
  if (await focused() !== 'echo of ours') faults.push(`the focus after a decision: ${await focused()}`);
  await tabTo('Approve');
  await page.keyboard.press('Enter');
  if (!(await third).startsWith('0 ')) faults.push(`the third call: ${await third}`);
  await page.waitForFunction(() => document.activeElement.id === 'approvals-title');
  const refused = await second;
  if (!refused.includes('refused it: not today')) faults.push(`the refused call: ${refused}`);

  await page.getByRole('button', {name: 'Load again: All calls'}).click();
  await see('#audit td', 'bob');
  await see('#servers td', 'ours');
  await see('#logins td', 'bob');
  await page.getByRole('button', {name: 'Make a key'}).click();
  await see('.key', 'jk_');
  await look('all');
  await page.getByRole('button', {name: /^Remove the key/}).first().click();
  await see('[role=status]', 'Removed the key');
  await page.getByRole('button', {name: 'Log out'}).click();
  await see('h1', 'Log in to');
  await page.goBack();
  await see('h1', 'Log in to');
} catch (error) {
  faults.push(error.stack);
}
for (const fault of faults) console.log(`FAULT ${fault}`);
await browser.close();
console.log('end');
