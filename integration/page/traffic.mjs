// Drives the console's view of traffic in a browser: node traffic.mjs PLAN, a JSON object:
// {link, browser, state, part, calls, shots}: part "nothing" looks at the page before anything runs, "rooms" at all that it shows, as one can look at it, "drive" does the rest.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {promisify} from 'node:util';
import {chromium} from 'playwright-core';
import {drawn, follow, looking} from './console.mjs';

const plan = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({executablePath: plan.browser, args: ['--no-sandbox']});
const context = await browser.newContext({viewport: {width: 1280, height: 800}, colorScheme: 'light', locale: 'en-US', ...(existsSync(plan.state) ? {storageState: plan.state} : {})});
const page = await context.newPage();
page.setDefaultTimeout(20000);
const faults = [];
page.on('pageerror', (error) => faults.push(error.message));
page.on('console', (message) => { if (message.type() === 'error' && !/ERR_INTERNET_DISCONNECTED/.test(message.text()) && !(plan.part === 'rooms' && /status of 404/.test(message.text()))) faults.push(`${message.text()} ${message.location().url}`); });
page.on('dialog', (dialog) => { faults.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });

const rows = page.locator('[data-seq]');
const panel = page.locator('.traffic-panel');
const call = (name) => promisify(execFile)(plan.calls[name][0], plan.calls[name].slice(1)).catch((error) => error);
const status = (text) => page.locator('.traffic-status').getByText(text).waitFor({timeout: 40000});
const hash = () => decodeURIComponent(new URL(page.url()).hash);
const count = async () => Number((await page.locator('.traffic-status').innerText()).replaceAll(',', '').match(/(\d+) (message|found)/)?.[1] ?? 0);
const until = (what, argument) => page.waitForFunction(what, argument);

async function step(name, does) {
  try {
    await does();
  } catch (error) {
    if (plan.shots) await page.screenshot({path: `${plan.shots}/failed.png`});
    throw new Error(`${name}: ${error.message}\nthe page says: ${(await page.locator('main').innerText()).slice(0, 2000)}`, {cause: error});
  }
}

// sound finds nothing serious with axe-core, and nothing wider than the screen.
async function sound(name) {
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => axe.run(document, {resultTypes: ['violations']}));
  const serious = violations.filter(({impact}) => ['serious', 'critical'].includes(impact));
  assert.deepEqual(serious.map(({id, nodes}) => [id, nodes.slice(0, 3).map(({html, failureSummary}) => html + failureSummary)]), [], name);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: the page is wider than the screen`);
  if (plan.shots) await page.screenshot({path: `${plan.shots}/${name}.png`});
}

await page.goto(plan.link);
await page.waitForSelector('.traffic');
await context.storageState({path: plan.state});

if (plan.part === 'nothing') {
  await step('nothing runs', async () => {
    await page.getByText('Nothing runs yet').waitFor();
    await page.getByText('junction up', {exact: true}).waitFor();
    await sound('nothing');
  });
} else if (plan.part === 'rooms') {
  await step('widths, themes and languages', async () => {
    const {rooms, took} = looking(page, faults);
    const all = await page.evaluate(async () => (await (await fetch('api/v1/traffic?limit=1000&ping=false')).json()).items);
    const seq = (is) => all.find(is).seq;
    const at = (address, shown) => async () => {
      await follow(page, `#/traffic/${address}`);
      await page.locator(shown).first().waitFor();
    };
    const message = (is) => at(seq(is), '.traffic-panel .tree');
    const press = (address, key, shown) => async () => {
      await at(address, '.traffic-row')();
      await page.locator('main').focus();
      await page.keyboard.press(key);
      await page.locator(shown).waitFor();
    };
    const states = [
      ['the diagram', at('', '.traffic-row')], ['the list', at('?view=list', '.traffic-row')],
      ['a request', message(({method, hop, kind}) => method === 'tools/call' && hop === 'client' && kind === 'request')],
      ['a response', message(({method, hop, kind}) => method === 'tools/call' && hop === 'server' && kind === 'response')],
      ['a failure', at(seq(({kind}) => kind === 'failure'), '.traffic-panel .notice-bad')], ['a decision', message(({note}) => note === 'policy')], ['labels', message(({note}) => note === 'labels')],
      ['a list next to a message', at(`${seq(({method}) => method === 'tools/call')}?view=list`, '.traffic-panel .tree')],
      ['one that is not there', at(999999, '.traffic-panel [role=alert]')],
      ['errors', at('?errors=true', '.is-failed')], ['a call', at(`?pid=${all[0].pid}&call=1`, '.traffic-call-chip')], ['pings', at('?ping=true', '.traffic-row')],
      ['nothing that is found', at('?pid=1&view=list', '.traffic-empty button')],
      ['the fields of the filter', async () => { await at('', '.traffic-row')(); await page.locator('.traffic-more').evaluate((button) => { if (button.ariaExpanded !== 'true') button.click(); }); }],
      ['exports', async () => { await at('', '.traffic-row')(); await page.locator('.menu').evaluate((menu) => { menu.open = true; }); }],
      ['a pause', press('', 'p', '.is-paused')], ['the keys', press('?view=list', '?', 'dialog[open]')],
    ];
    // with a whole page each, they are looked at in parts, at the same time
    await rooms(states.filter((_, n) => n % plan.parts === plan.nth), async (name) => { if (plan.shots) await page.screenshot({path: `${plan.shots}/traffic-${name.replace(/\W+/g, '-')}.png`}); });
    await page.evaluate(() => document.querySelector('dialog[open]')?.close());
    await page.setViewportSize({width: 360, height: 740});
    await states[2][1]();
    const [shown, room] = await Promise.all(['.traffic-panel', '.traffic-split'].map((one) => page.locator(one).evaluate((node) => node.offsetHeight)));
    assert.ok(room - shown < 4, `on a small screen a message has ${shown} of ${room} pixels`);
    await page.setViewportSize({width: 1280, height: 800});
    for (const lane of await page.locator('.traffic-text').all()) {
      const words = await lane.locator(':scope > .traffic-method').evaluateAll((all) => all.filter((one) => one.offsetWidth > 1 && one.offsetWidth < Math.min(20, one.scrollWidth)).map((one) => one.textContent));
      assert.deepEqual(words, [], 'words of which one sees a letter');
    }
    console.log(`saw ${took()}`);
  });
} else {
  await step('the diagram', async () => {
    await rows.first().waitFor();
    assert.equal(await page.getByRole('listbox').count(), 1);
    const lanes = await page.locator('.traffic-lane').allInnerTexts();
    assert.deepEqual([lanes[1], ...lanes.slice(2).sort()], ['Junction', 'every', 'memory']); // both start at the same time
    assert.match(lanes[0], /^junction\//);
  });

  await step('it grows while it happens', async () => {
    const before = await count();
    await call('echo');
    await until((n) => Number(document.querySelector('.traffic-status').innerText.match(/(\d+) messages/)?.[1]) >= n, before + 4);
    await page.getByRole('option', {name: /Junction \d+ to every, request tools\/call echo/}).last().waitFor();
    await page.getByRole('option', {name: /Junction \d+ to junction\/\S+, response tools\/call every__echo .+ Call \d+$/}).last().waitFor();
    assert.ok(await page.locator('.traffic-row').count() < 60, 'only what one sees is in the document');
  });

  await step('what a server writes stays text', async () => {
    await call('hostile');
    await page.getByText('<img src=x onerror=alert(1)>').last().waitFor();
    await page.getByText('<img src=x onerror=alert(1)>').last().click();
    await panel.getByText('<img src=x onerror=alert(1)>').first().waitFor();
    assert.equal(await page.locator('main img, main script, main iframe').count(), 0);
    const there = page.url();
    await page.goBack();
    await panel.waitFor({state: 'hidden'});
    assert.ok(await rows.count() > 0, 'Back closes the message, and does not leave the stream');
    await page.goForward();
    await panel.waitFor();
    assert.equal(page.url(), there);
    await page.keyboard.press('Escape');
    await panel.waitFor({state: 'hidden'});
  });

  await step('numbers are shown as they were written', async () => {
    await call('numbers');
    await page.getByRole('option', {name: /request tools\/call every__numbers/}).last().click();
    await panel.getByText('12345678901234567890').first().waitFor();
    await panel.getByText('1.50').first().waitFor();
    await page.keyboard.press('Escape');
  });

  await step('the filter stands in the address', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('OSLO');
    await until(() => location.hash.includes('text=OSLO'));
    await page.getByText('create_entities').first().waitFor();
    assert.equal(await page.getByText('every__echo').count(), 0);
    await page.reload();
    await page.getByText('create_entities').first().waitFor();
    assert.equal(await page.getByLabel('Text in messages').inputValue(), 'OSLO');
    assert.equal(hash(), '#/traffic/?text=OSLO');
    await page.getByRole('button', {name: 'Show all'}).click();
    await page.getByLabel('Server', {exact: true}).selectOption('memory');
    await until(() => location.hash === '#/traffic/?server=memory');
    await until(() => [...document.querySelectorAll('[data-seq]')].length > 3 && ![...document.querySelectorAll('[data-seq]')].some((row) => row.textContent.includes('every')));
    await page.getByRole('button', {name: 'Show all'}).click();
    await page.locator('main').focus();
    await page.keyboard.press('e');
    await until(() => location.hash === '#/traffic/?errors=true');
    await page.getByText('every__fail').first().waitFor();
    assert.equal(await page.locator('[data-seq]:not(.is-failed)').count(), 0);
    await page.keyboard.press('e');
    await until(() => location.hash === '#/traffic');
  });

  await step('a message, and its call', async () => {
    await page.getByLabel('Tool or URI').fill('read_graph');
    await page.getByRole('option', {name: /to Junction \d+, request tools\/call memory__read_graph/}).first().click();
    await panel.getByText('What Junction did').or(panel.getByText('On the other side: memory')).first().waitFor();
    assert.equal(await panel.locator('.waterfall-row').count(), 2);
    assert.equal(await panel.locator('.waterfall-bar.is-waiting').count(), 0);
    const changed = panel.locator('.change', {hasText: 'params.name'});
    assert.match(await changed.innerText(), /changed\s*params\.name\s*"memory__read_graph"\s*"read_graph"/);
    await panel.getByRole('button', {name: 'Raw'}).first().click();
    const raw = JSON.parse(await panel.locator('pre').first().innerText());
    assert.equal(raw.params.name, 'memory__read_graph');
    await panel.getByRole('button', {name: /^Only call/}).click();
    await until(() => /[?&]call=\d+/.test(location.hash) && /[?&]pid=\d+/.test(location.hash));
    await until(() => document.querySelectorAll('[data-seq]').length >= 4);
    await sound('call');
    await page.getByRole('button', {name: 'Show all'}).click();
    await page.locator('.traffic-panel').getByRole('button', {name: 'Close'}).click();
  });

  await step('a call that asks twice, of a modern client and of one before', async () => {
    await page.getByLabel('Tool or URI').fill('ask-twice');
    await page.getByRole('option', {name: /request tools\/call every__ask-twice/}).first().click();
    await panel.getByText(/^Call \d+ · .*2 rounds/).waitFor();
    assert.equal(await panel.locator('.waterfall-row').count(), 4);
    await page.keyboard.press('Escape');
    await page.getByRole('button', {name: 'Show all'}).click();
    await page.getByLabel('Method', {exact: true}).selectOption('elicitation/create');
    await page.getByRole('option', {name: /Junction \d+ to junction\/.*, request elicitation\/create/}).first().waitFor();
    await page.getByRole('button', {name: 'Show all'}).click();
  });

  await step('what a conversation calls, with its labels', async () => {
    await call('chat');
    await follow(page, '#/traffic/?server=everything&method=tools%2Fcall');
    await page.getByRole('option', {name: /Junction \d+ to everything, request tools\/call add/}).first().click();
    await panel.getByText('What the conversation had read before this call:').waitFor();
    assert.match(await panel.locator('.traffic-note', {hasText: 'Added by this result:'}).innerText(), /private[^]*everything\/add/);
    assert.match(await panel.locator('.traffic-note', {hasText: 'policy'}).innerText(), /"allow"[^]*"policy"/);
    await page.keyboard.press('Escape');
    await page.getByText('labels').first().waitFor();
    await page.getByRole('button', {name: 'Show all'}).click();
  });

  await step('keys', async () => {
    await rows.first().waitFor();
    await page.locator('main').focus();
    await page.keyboard.press('d');
    await page.getByRole('grid').waitFor();
    assert.equal(hash(), '#/traffic/?view=list');
    await drawn(page);
    assert.equal(Number(await page.getByRole('grid').getAttribute('aria-rowcount')), await count() + 1);
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await panel.waitFor();
    await drawn(page);
    const first = await page.locator('.is-selected').getAttribute('aria-rowindex');
    await page.keyboard.press('k');
    await until((n) => Number(document.querySelector('.is-selected')?.ariaRowIndex) === n, Number(first) - 1);
    assert.equal(await page.getByRole('grid').getAttribute('aria-activedescendant'), await page.locator('.is-selected').getAttribute('id'));
    await page.keyboard.press('Escape');
    await panel.waitFor({state: 'hidden'});
    await page.keyboard.press('?');
    await page.getByText('Errors only, or all').waitFor();
    await page.keyboard.press('Escape');
  });

  await step('pause, and stay where one is', async () => {
    await page.keyboard.press('p');
    await status('Paused');
    const before = await count();
    await call('echo');
    await page.getByRole('button', {name: /\d+ came since/}).waitFor();
    assert.equal(await count(), before);
    await page.keyboard.press('p');
    await status('Live');
    await until((n) => Number(document.querySelector('.traffic-status').innerText.match(/(\d+) messages/)?.[1]) > n, before);
    await page.locator('.traffic-stream').evaluate((stream) => { stream.scrollTop = 0; });
    await drawn(page);
    await call('echo');
    const latest = page.getByRole('button', {name: /\d+ came since/});
    await latest.waitFor();
    assert.equal(await page.locator('.traffic-stream').evaluate((stream) => stream.scrollTop), 0);
    await latest.click();
    await latest.waitFor({state: 'hidden'});
    await drawn(page);
    assert.ok(await page.locator('.traffic-stream').evaluate((stream) => stream.scrollTop + stream.clientHeight >= stream.scrollHeight - 40));
  });

  await step('exports', async () => {
    const found = await page.evaluate(() => Promise.all([...document.querySelectorAll('.menu-items a')].map(async (link) => {
      const answer = await fetch(link.href);
      return [answer.status, answer.headers.get('Content-Type').split(';')[0], (await answer.text()).slice(0, 40)];
    })));
    assert.deepEqual(found.map(([status, kind]) => [status, kind]), [[200, 'application/jsonl'], [200, 'application/json'], [200, 'image/svg+xml'], [200, 'text/plain']]);
    assert.match(found[2][2], /^<svg /);
    assert.match(found[3][2], /^sequenceDiagram/);
  });

  await step('that a legacy server refuses server/discover is no error', async () => {
    const before = hash();
    await follow(page, '#/traffic/?server=memory&method=server%2Fdiscover');
    await page.getByRole('option', {name: /memory to Junction \d+, legacy server/}).first().click();
    await panel.getByText('It is not an error: Junction continues with initialize.').waitFor();
    assert.equal(await panel.locator('.badge-bad, .notice-bad').count(), 0);
    await page.keyboard.press('Escape');
    const answers = await page.evaluate(async () => (await (await fetch('api/v1/traffic?method=server/discover&server=memory&errors=true')).json()).items);
    assert.deepEqual(answers, []);
    await follow(page, before);
  });

  await step('notifications on a small screen', async () => {
    const before = hash();
    await follow(page, '#/traffic/?method=notifications%2Finitialized');
    const method = page.locator('.is-notification .traffic-method').first();
    await method.waitFor();
    assert.equal(await page.locator('.is-notification .badge').count(), 0);
    await page.setViewportSize({width: 360, height: 740});
    await until(() => document.querySelector('.is-notification .traffic-method').innerText === 'initialized');
    await page.setViewportSize({width: 1280, height: 800});
    await follow(page, before);
  });

  await step('the console is gone, and comes back', async () => {
    await context.setOffline(true); // which leaves the stream that is open
    await page.locator('main').focus();
    await page.keyboard.press('e');
    await status('Connection lost');
    await page.getByText('The console does not answer').waitFor();
    await context.setOffline(false);
    await status('Live');
    await page.keyboard.press('e');
    await until(() => location.hash === '#/traffic/?view=list' || location.hash === '#/traffic');
  });

  await step('clear', async () => {
    await rows.first().waitFor();
    await page.getByRole('button', {name: 'Clear'}).click();
    await page.getByText('Waiting for messages').waitFor();
    await call('echo');
    await page.getByText('every__echo').first().waitFor();
  });
}
assert.deepEqual(faults, []);
await browser.close();
