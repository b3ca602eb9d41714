// The pictures of the console: node console.mjs FOLDER-OF-PLAYWRIGHT CHROMIUM LINK INTO HOME ENDPOINT JUNCTION.
import {execFileSync} from 'node:child_process';
import {createRequire} from 'node:module';
import {readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const [folder, program, link, into, home, endpoint, junction] = process.argv.slice(2);
const {chromium} = createRequire(join(folder, 'package.json'))('playwright-core');
const browser = await chromium.launch({executablePath: program, args: ['--no-sandbox', '--disable-gpu']});
const page = await (await browser.newContext({viewport: {width: 1100, height: 700}, locale: 'en-US', timezoneId: 'UTC'})).newPage();
page.setDefaultTimeout(30_000);
const most = 150_000; // bytes of a picture

// pictures are what is taken, in this order: where, in which theme, into which file, and what is done before, on the page that
// the address shows. PID is that of junction up. A picture has all of the page, or no more than its height.
const pictures = [
  {route: 'servers/PID/files', before: approved},
  {route: 'servers', theme: 'light', file: 'console-servers.png', before: () => seen('tr', 'withheld')},
  {route: 'servers/PID/files', theme: 'light', file: 'console-approval.png', height: 900, before: changed},
  {route: 'servers/PID', theme: 'dark', file: 'console-rules.png', before: decided},
  {route: 'traffic', theme: 'light', file: 'console-traffic.png', before: flowed},
  {route: 'inspector', theme: 'light', file: 'console-inspector.png', height: 620, before: inspected},
  {route: 'servers/PID/weather', theme: 'light', file: 'console-fault.png', height: 560, before: () => seen('dd', 'install it')},
  {route: 'conversations', theme: 'dark', file: 'console-conversation.png', before: opened},
];

const seen = (selector, text) => page.locator(selector, {hasText: text}).first().waitFor();

// approved has what files offers now approved, so that it can be another thing later.
async function approved() {
  await page.getByRole('button', {name: 'Approve exactly this'}).click();
  await seen('[role=status]', 'is approved');
}

// changed has files started with --write.
async function changed() {
  const path = join(home, 'junction.json');
  const settings = JSON.parse(readFileSync(path, 'utf8'));
  settings.mcpServers.files.args.push('--write');
  writeFileSync(path, JSON.stringify(settings));
  await seen('#approvals-title');
  await seen('summary', 'write-file');
}

async function decided() {
  try {
    execFileSync(junction, ['call', endpoint, 'files__list-folder', '{"path":"trips"}'], {stdio: 'pipe'});
  } catch {
    // the log has it in any case
  }
  await page.getByRole('button', {name: 'Show'}).click();
  await seen('summary', 'list-folder');
  await page.locator('#rules-server').fill('files');
  await page.locator('#rules-tool').fill('write-file');
  await page.locator('#rules-arguments').fill('{"path": "trips/top3.csv"}');
  await page.getByRole('button', {name: 'Decide'}).click();
  await seen('[role=status] .badge', 'ask');
  await page.evaluate(() => document.activeElement?.blur());
}

// flowed has a call be seen on both sides, and opened.
async function flowed() {
  execFileSync(junction, ['call', endpoint, 'files__list-folder', '{"path":"trips"}'], {stdio: 'pipe'});
  await page.locator('[data-seq]', {hasText: 'list-folder'}).last().click();
  await page.locator('.traffic-panel .tree').first().waitFor();
}

// inspected connects to a server, and calls a tool.
async function inspected() {
  await page.getByText('files (stdio)').first().click();
  await page.locator('.ins-sections a', {hasText: 'Tools'}).click();
  await page.locator('.ins-entry', {hasText: 'list-folder'}).click();
  await page.locator('.ins-ask .form-body :is(input, textarea):visible').first().fill('trips');
  await page.locator('.ins-actions .button-primary').click();
  await page.locator('.ins-outcome .badge', {hasText: 'done'}).waitFor();
}

async function opened() {
  await page.locator('.conversation-row').first().click();
  await seen('#flow-title');
}

// tidy puts the home of somebody in the place of the temporary one, and the usual port.
const tidy = () => page.evaluate(([from, at]) => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replaceAll(from, '/home/ada').replaceAll(at, 'http://127.0.0.1:7717/mcp');
}, [home, endpoint]);

await page.goto(link);
await page.waitForSelector('main h1');
let pid = 0;
for (let ready = false; !ready;) {
  const {instances} = await page.evaluate(async () => (await fetch('api/v1/instances')).json());
  pid = instances[0]?.pid;
  ready = pid && instances[0].servers.every((s) => ['connected', 'failed'].includes(s.state));
  if (!ready) await page.waitForTimeout(200);
}
for (const {route, theme, file, height, before} of pictures) {
  if (theme) await page.locator('.choices select').nth(1).selectOption(theme);
  await page.evaluate((where) => { location.hash = where; }, `#/${route.replace('PID', pid)}`);
  await before?.();
  if (!file) continue;
  await page.waitForTimeout(300); // for what the last answer of the API brings
  await tidy();
  const all = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({width: 1100, height: Math.min(all, height ?? all)});
  await page.screenshot({path: join(into, file)});
  await page.setViewportSize({width: 1100, height: 700});
  const size = statSync(join(into, file)).size;
  if (size > most) throw new Error(`${file} has ${size} bytes, more than ${most}`);
}
await browser.close();
