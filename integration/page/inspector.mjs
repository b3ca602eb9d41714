// inspector.mjs SCENARIO CHROMIUM LINK JSON: does with the inspector what a person would do, and prints a line for each
// thing that was seen, and "FAULT …" for each that should not have been. SHOTS in the environment is a folder for pictures.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {enter, follow} from './console.mjs';

const [scenario, program, link, given] = process.argv.slice(2);
const settings = JSON.parse(given || '{}');
const {page, context, faults, judge, rooms, took, close} = await enter(link, program);
page.setDefaultTimeout(15_000);
const connection = () => /#\/inspector\/(\w+)/.exec(page.url())[1];
const to = async (...parts) => {
  await follow(page, `#/inspector/${[connection(), ...parts.map(encodeURIComponent)].join('/')}`);
  await page.waitForFunction((section) => document.querySelector(`.ins-sections [aria-current]`)?.getAttribute('href').endsWith(section), parts[0] ?? 'overview');
};
const outcome = page.locator('.ins-outcome');
const fields = page.locator('.ins-ask .form-body :is(input, textarea):visible');
const badge = outcome.locator('.ins-run-head .badge');
const shot = (name) => (process.env.SHOTS ? page.screenshot({path: join(process.env.SHOTS, `${scenario}-${name}.png`)}) : null);
const saw = (what) => console.log(`saw ${what}`);
const has = (locator, text) => locator.filter({hasText: text}).first().waitFor({timeout: 15_000}).catch(async (error) => { throw new Error(`no ${text}: ${await page.locator('main').innerText()}`, {cause: error}); });

// call runs a tool with arguments as JSON, and waits for its end.
async function call(name, values, end = /^(done|failed|the tool failed|cancelled|became a task)$/) {
  await to('tools', name);
  await page.locator('.ins-ask h2').waitFor();
  if (values) {
    await page.locator('.form-toolbar button').nth(1).click();
    await page.locator('.form-raw').fill(JSON.stringify(values));
  }
  await page.locator('.ins-actions .button-primary').click();
  if (end) await badge.filter({hasText: end}).waitFor({timeout: 60_000}).catch(async (error) => { throw new Error(`${name} does not end: ${await page.locator('main').innerText()}`, {cause: error}); });
}

// lateCounts: the section that is open stays in sight when the counts of those before it come later than the page.
async function lateCounts() {
  await to('history');
  await page.setViewportSize({width: 360, height: 740});
  let asked;
  const first = new Promise((done) => { asked = done; });
  let release;
  const released = new Promise((done) => { release = done; });
  await page.route('**/requests', async (route) => {
    asked();
    await released;
    await route.continue();
  });
  await page.reload();
  await page.locator('.ins-sections [aria-current]').waitFor();
  await first;
  await judge('history before the lists');
  release();
  await page.waitForFunction(() => document.querySelectorAll('.ins-sections .ins-count').length > 3);
  await judge('history after the lists');
  await page.unroute('**/requests');
  saw('counts that come late');
}

const scenarios = {
  // Everything that our own server of that name has, in both eras.
  async everything() {
    await has(page.locator('.ins-head'), 'connected');
    await has(page.locator('.ins-head'), settings.revision);
    await has(page.locator('.ins-steps'), settings.era === 'modern' ? 'server/discover' : 'initialize');
    await has(page.locator('.ins-overview'), 'This server exists to try out');
    saw('the steps of connecting');
    await page.getByRole('button', {name: 'Ping'}).click();
    await has(page.locator('.ins-overview'), 'answered in');
    saw('a ping');

    await page.locator('.ins-sections a', {hasText: 'Tools'}).click();
    await page.locator('.ins-entry').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('add two');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('.ins-entry').count(), 1);
    await page.keyboard.press('Enter');
    await fields.nth(0).fill('1');
    await fields.nth(1).fill('41');
    await page.keyboard.press('Control+Enter');
    await has(outcome, '42');
    await has(outcome.locator('.tree'), 'sum');
    saw('a call by keyboard, with structured content as a tree');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.locator('.ins-detail .empty').waitFor();
    await page.keyboard.press('k');
    saw('Escape goes back to the list');

    const calm = page.locator('.ins-badges .badge-plain', {hasText: /changes|may change/});
    await page.keyboard.press('/');
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await calm.first().waitFor(); // what is not said to destroy
    assert.deepEqual([...new Set(await page.locator('.ins-badges .badge-bad').allInnerTexts())], ['destructive']);
    saw('the effects of tools');

    await to('tools', 'add');
    await page.locator('.form-toolbar button').nth(1).click();
    await page.locator('.form-raw').fill('{"a": 1}');
    await page.locator('.ins-actions .button-primary').click();
    await has(page.locator('.ins-ask'), 'do not fit the schema');
    await page.locator('.ins-actions .button-primary').click();
    await badge.filter({hasText: 'failed'}).waitFor();
    saw('arguments that do not fit are sent when somebody insists');

    await call('get-mixed');
    for (const part of ['img.ins-picture', 'audio', '.ins-resource', '.ins-linked']) assert.equal(await outcome.locator(part).count(), 1, part);
    await outcome.locator('img').evaluate((image) => image.decode()); // which fails where it cannot be shown
    assert.ok(await outcome.locator('img').evaluate((image) => image.naturalWidth > 0), 'the picture is shown');
    await outcome.getByRole('button', {name: 'Read'}).click();
    await has(page.locator('.ins-ask h2'), 'Text');
    saw('text, picture, sound, resource and link');

    await call('fail');
    await has(outcome, 'The tool failed');
    saw('a tool that fails');
    await call('wait', {milliseconds: 60000}, null);
    await outcome.locator('progress').waitFor();
    await outcome.getByRole('button', {name: 'Cancel'}).click();
    await badge.filter({hasText: 'cancelled'}).waitFor();
    saw('a call that is cancelled');
    await page.locator('.ins-seconds').fill('1');
    await page.locator('.ins-actions .button-primary').click();
    await badge.filter({hasText: 'failed'}).waitFor();
    await has(outcome.locator('.notice'), 'What to do');
    saw('a timeout, with its remedy');
    await call('count-slowly', {steps: 8, milliseconds: 150}, null);
    await has(outcome.locator('.ins-progress'), /[1-8] \/ 8/);
    await badge.filter({hasText: 'done'}).waitFor();
    saw('progress');
    await call('log', {message: 'a log line'});
    await has(outcome.locator('.ins-log'), 'a log line');
    saw('log messages');

    const question = page.locator('.ins-question');
    await call('ask', null, null);
    await has(question, 'Everything asks');
    await has(outcome.locator('.ins-progress'), 'the server waits for your answer');
    await question.locator('.form-body :is(input, textarea):visible').first().fill('Ada');
    await shot('question');
    await question.getByRole('button', {name: 'Send', exact: true}).click();
    await has(outcome, 'Ada');
    await page.locator('.ins-actions .button-primary').click();
    await question.getByRole('button', {name: 'Decline'}).click();
    await badge.filter({hasText: 'done'}).waitFor();
    await has(outcome, /declin/i);
    saw('a form, sent and declined');
    if (await page.locator('.ins-entry', {hasText: 'ask-url'}).count() > 0 || settings.asksURL) {
      await call('ask-url', null, null);
      await has(question, 'example.com');
      await question.getByRole('button', {name: 'I visited'}).click();
      await badge.filter({hasText: 'done'}).waitFor();
      saw('a page to visit');
    }
    await call('sample', {prompt: 'How are you?'}, null);
    await has(question, 'How are you?');
    await question.getByLabel('Answer in place').last().fill('I am a person.');
    await question.getByRole('button', {name: 'Send', exact: true}).click();
    await has(outcome, 'I am a person.');
    saw('sampling, answered by a person');
    await call('list-roots', null, null);
    await question.locator('textarea').fill('relative');
    await question.getByRole('button', {name: 'Send', exact: true}).click();
    await has(question, 'no folder of this machine');
    await question.locator('textarea').fill('/tmp/some folder');
    await question.getByRole('button', {name: 'Send', exact: true}).click();
    await has(outcome, 'file:///tmp/some%20folder');
    saw('roots');

    await to('overview');
    await page.getByLabel('Tools', {exact: true}).check();
    await has(page.locator('.ins-overview'), 'The server tells of');
    await call('toggle-tool');
    await has(page.locator('.ins-side .notice'), /Added|Removed/);
    saw('a list that changed, and how');
    await to('resources', 'everything://counter');
    await page.getByRole('button', {name: 'Listen for changes'}).click();
    await page.getByRole('button', {name: 'Stop listening'}).waitFor();
    await call('update-resource');
    await to('activity');
    await has(page.locator('.ins-events'), 'notifications/resources/updated');
    await shot('activity');
    await to('resources', 'everything://counter');
    await has(page.locator('.ins-item'), 'that it changed');
    await to('activity');
    for (const name of ['Messages', 'Output', 'HTTP']) await page.locator('.ins-ways').getByRole('button', {name}).click();
    saw('a subscription');

    await to('templates', 'everything://planets/{name}');
    const preview = page.locator('.ins-preview code');
    assert.equal(await preview.innerText(), 'everything://planets/');
    await fields.first().fill('a b/é<i>');
    assert.equal(await preview.innerText(), 'everything://planets/a%20b%2F%C3%A9%3Ci%3E');
    saw('the URI that a template becomes');
    await fields.first().fill('');
    await fields.first().pressSequentially('mar');
    await page.locator('datalist option[value="mars"]').waitFor({state: 'attached'});
    await fields.first().fill('mars');
    await page.keyboard.press('Control+Enter');
    await has(outcome, 'everything://planets/mars');
    saw('a template with completion');
    await to('prompts', 'travel');
    await fields.first().pressSequentially('n');
    await page.locator('datalist option').first().waitFor({state: 'attached'});
    await fields.first().fill('Norway');
    await page.keyboard.press('Control+Enter');
    await has(outcome.locator('.ins-said'), 'Norway');
    saw('a prompt with completion');

    await call('echo', {message: 'one'});
    await call('echo', {message: 'two'});
    await to('history');
    await page.getByRole('searchbox').fill('echo');
    await page.locator('tbody input').nth(0).check();
    await page.locator('tbody input').nth(1).check();
    await page.getByRole('button', {name: 'Compare two'}).click();
    await has(page.locator('.ins-diff-less'), 'one');
    await has(page.locator('.ins-diff-more'), 'two');
    await shot('compare');
    saw('the difference of two results');
    await page.locator('tbody a').nth(1).click();
    await page.getByRole('button', {name: 'Copy', exact: true}).click();
    await has(page.locator('.ins-copies'), 'junction call');
    await has(page.locator('.ins-copies'), 'mcpServers');
    await page.getByRole('button', {name: 'Raw'}).click();
    await has(page.locator('.ins-message'), '"tools/call"');
    await shot('raw');
    saw('copies, and raw messages');
    await page.getByRole('button', {name: 'Again …'}).click();
    await fields.first().waitFor();
    assert.equal(await fields.first().inputValue(), 'one');
    saw('a call to run again, to be edited first');

    await page.keyboard.press('Escape');
    await page.goto(page.url().replace(/#.*/, '#/servers'));
    await page.waitForSelector('main h1');
    await page.goto(page.url().replace(/#.*/, '#/inspector'));
    await has(page.locator('.ins-head'), 'connected');
    await page.locator('.ins-new').click();
    await page.locator('.ins-list button').first().waitFor();
    await page.getByLabel('URL or command').fill(settings.second);
    await page.keyboard.press('Enter');
    await has(page.locator('.ins-head'), 'connected');
    assert.equal(await page.locator('.ins-tab').count(), 2);
    await page.locator('.ins-tab a').first().click();
    await has(page.locator('.ins-head'), settings.revision);
    saw('two connections, kept while another view is shown');
    await page.locator('.ins-close').nth(1).click();
    await page.waitForFunction(() => document.querySelectorAll('.ins-tab').length === 1);
  },

  // Each thing that the inspector can show, at three widths, in both themes and both languages. What was done stays, so each is
  // shown again by its address. settings.part is what is looked at.
  async rooms() {
    await has(page.locator('.ins-head'), 'connected');
    const id = connection();
    const question = page.locator('.ins-question');
    const open = (...parts) => async () => {
      await follow(page, `#/inspector/${[id, ...parts.map(encodeURIComponent)].join('/')}`);
      await page.locator(`.ins-sections [aria-current][href$="/${parts[0]}"]`).waitFor();
      await page.waitForFunction(() => !document.querySelector('main [aria-busy="true"]'));
    };
    const then = (first, ...more) => async () => {
      await first();
      for (const one of more) await one();
    };
    const click = (...which) => async () => { await page.locator(...which).first().click(); };
    const raw = async () => { // a form as text
      if (await page.locator('.form-raw').count() === 0) await page.locator('.form-toolbar button').nth(1).click();
    };
    const ask = (tool, values) => async () => { // which the server answers with a question
      await call(tool, values, null);
      await question.first().waitFor();
    };
    const answered = async () => { // all questions, so that nothing of them is left
      for (let n = 0; await question.count() > 0; n++) {
        assert.ok(n < 300, 'questions stay');
        await question.first().locator('.toolbar button').last().click({timeout: 1000}).catch(() => {}); // of one that was answered just now, and goes
        await page.waitForTimeout(50);
      }
    };
    for (const [tool, values] of [['get-mixed'], ['fail'], ['add', {a: 1, b: 41}], ['log', {message: 'a log line'}], ['echo', {message: 'one'}], ['echo', {message: 'two'}]]) await call(tool, values);
    await call('wait', {milliseconds: 60000}, null);
    await outcome.getByRole('button', {name: 'Cancel'}).click();
    await badge.filter({hasText: 'cancelled'}).waitFor();
    await then(open('overview'), async () => page.getByLabel('Tools', {exact: true}).check(), async () => has(page.locator('.ins-overview'), 'The server tells of'))();
    await call('toggle-tool');
    await has(page.locator('.ins-side .notice'), /Added|Removed/);
    const compare = async () => {
      for (const box of await page.locator('tbody input:checked').all()) await box.uncheck();
      for (const n of [0, 1]) await page.locator('tbody input').nth(n).check();
      await page.locator('.ins-items button, .ins-section button').filter({hasText: /^(Compare two|比较)/}).first().click();
      await page.locator('.ins-diff').first().waitFor();
      assert.ok(await page.locator('.ins-diff').first().evaluate((node) => node.getBoundingClientRect().top < innerHeight), 'the difference is in sight');
    };
    const ways = (n) => then(open('activity'), click('.ins-ways button >> nth=' + n));
    const parts = {
      tools: [
        ['overview', open('overview')], ['tools', open('tools')], ['a form', open('tools', 'add')],
        ['a form as text that does not fit', then(open('tools', 'echo'), raw, async () => page.locator('.form-raw').fill('{"message": 1}'), click('.ins-actions .button-primary'), async () => page.locator('.ins-ask .problem:visible, .ins-ask .notice:visible, .ins-ask [role=alert]:visible').first().waitFor())],
        ['a result of every kind', open('tools', 'get-mixed')], ['a result as a tree', open('tools', 'add')], ['a result that failed', open('tools', 'fail')],
        ['a call that was cancelled', open('tools', 'wait')], ['log messages', open('tools', 'log')],
      ],
      calls: [
        ['a question with a form', then(answered, ask('ask'))], ['a question for a model', then(answered, ask('sample', {prompt: 'How are you?'}))], ['a question for folders', then(answered, ask('list-roots'))],
        ['a filter that finds nothing', then(answered, open('tools'), async () => page.locator('.ins-side [data-filter]').fill('neverthere'))],
      ],
      others: [
        ['resources', open('resources')], ['a resource', open('resources', 'everything://counter')], ['a template', open('templates', 'everything://planets/{name}')], ['prompts', open('prompts')],
        ['a prompt', then(open('prompts', 'travel'), async () => fields.first().fill('Norway'), click('.ins-actions .button-primary'), async () => outcome.locator('.ins-said').first().waitFor())],
      ],
      history: [
        ['history', open('history')], ['two that differ', then(open('history'), compare)],
        ['copies', then(open('history'), click('tbody a'), click('.ins-run-head button, .ins-outcome button >> text=/^(Copy|复制)$/'))],
        ['notifications', open('activity')], ['messages', ways(1)], ['output', ways(2)], ['requests', ways(3)],
        ['authorization', open('authorization')],
        ['a new connection', async () => { await page.evaluate(() => { location.hash = '#/inspector/new'; }); await page.locator('.ins-connect .ins-entry').first().waitFor(); await page.locator('.ins-connect details').evaluate((node) => { node.open = true; }); }],
        ['one that is gone', async () => { await page.evaluate(() => { location.hash = '#/inspector/gone'; }); await page.locator('main .notice').first().waitFor(); }],
        ['the keys', then(open('tools'), async () => page.keyboard.press('Escape'), async () => page.locator('main').focus(), async () => page.keyboard.press('?'), async () => page.locator('dialog[open]').waitFor())],
      ],
    };
    if (settings.part === 'history') await lateCounts();
    await rooms(parts[settings.part], (name) => shot(name.replace(/\W+/g, '-')));
    saw(`${parts[settings.part].length} things: ${took()}`);
  },

  // A real server: what it lists, a call, and what a resource and a prompt give where it has some.
  async real() {
    await has(page.locator('.ins-head'), 'connected');
    await page.locator('.ins-sections a', {hasText: 'Tools'}).click();
    await page.waitForFunction((n) => document.querySelectorAll('.ins-entry').length >= n, settings.tools);
    for (let n = 0; n < await page.locator('.ins-entry').count(); n++) {
      await page.locator('.ins-entry').nth(n).click();
      await page.locator('.ins-ask h2').waitFor();
    }
    await judge('a tool');
    saw('a form for each tool');
    await call(settings.tool, settings.arguments);
    await has(outcome, settings.want);
    await judge('a result');
    await shot('call');
    saw('a call');
    if (settings.resource) {
      await to('resources', settings.resource);
      await page.locator('.ins-actions .button-primary').click();
      await outcome.locator('.ins-markdown, .ins-plain').first().waitFor();
      await judge('Markdown');
      await shot('markdown');
      saw('a resource');
    }
    if (settings.prompt) {
      await to('prompts', settings.prompt);
      await fields.first().fill(Object.values(settings.promptArgument)[0]);
      await page.keyboard.press('Control+Enter');
      await has(outcome.locator('.ins-said'), Object.values(settings.promptArgument)[0]);
      saw('a prompt');
    }
    if (settings.task) {
      await call(settings.task, settings.taskArguments);
      await has(badge, 'became a task');
      await to('overview');
      const tasks = page.locator('.ins-task');
      await tasks.getByRole('button', {name: 'State'}).click();
      await has(tasks, /working|completed/);
      await tasks.getByRole('button', {name: 'Result'}).click();
      await has(tasks, settings.taskWant);
      await call(settings.task, settings.taskArguments);
      await to('overview');
      await tasks.first().getByRole('button', {name: 'Cancel'}).click();
      await has(tasks.first(), 'was asked to cancel');
      await judge('tasks');
      await shot('tasks');
      saw('tasks: state, result, cancel');
    }
    await to('history');
    await page.locator('tbody tr').first().waitFor();
    saw('history');
  },

  // Connections that another page, or a program, makes and closes.
  async elsewhere() {
    await page.evaluate(() => { location.hash = '#/inspector/new'; });
    await page.getByLabel('URL or command').waitFor();
    await page.evaluate(() => {
      window.said = [];
      new MutationObserver(() => { if (/not there any more/.test(document.querySelector('main').innerText)) window.said.push(location.hash); }).observe(document.querySelector('main'), {childList: true, subtree: true, characterData: true});
    });
    const made = () => page.evaluate(async (command) => (await (await fetch('api/v1/connections', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(command)})).json()).id, settings.server);
    for (let n = 0; n < 3; n++) {
      const id = await made();
      await follow(page, `#/inspector/${id}/tools/add`);
      await has(page.locator('.ins-head'), 'connected');
      await has(page.locator('.ins-detail'), 'add');
    }
    assert.deepEqual(await page.evaluate(() => window.said), []);
    saw('each at once, and never that it is not there');
    const id = await made();
    const other = await context.newPage();
    await other.goto(`${page.url().split('#')[0]}#/inspector/${id}`);
    await has(other.locator('.ins-head'), 'connected');
    await other.close();
    saw('it in a page of its own');
    const last = connection();
    await page.evaluate((which) => fetch(`api/v1/connections/${which}`, {method: 'DELETE'}), last);
    await has(page.locator('main'), 'not there any more');
    await page.evaluate(() => { location.hash = '#/inspector/neverthere'; });
    await has(page.locator('main .notice'), 'not there any more');
    await page.getByLabel('URL or command').waitFor();
    saw('that one is not there');
    await page.route('**/api/v1/connections', (route) => route.abort());
    await page.evaluate(() => { location.hash = '#/inspector/another'; });
    await has(page.locator('main [role=alert]'), 'The console does not answer');
    await page.unroute('**/api/v1/connections');
    await has(page.locator('main .notice'), 'not there any more');
    saw('that the console does not answer, and comes back');
    faults.splice(0, faults.length, ...faults.filter((one) => !/ERR_FAILED/.test(one)));
  },

  // What does not connect says why, and what to do.
  async failing() {
    for (const [typed, ...words] of settings.faults) {
      await page.evaluate(() => { location.hash = '#/inspector/new'; });
      await page.getByLabel('URL or command').fill(typed);
      await page.keyboard.press('Enter');
      await page.locator('.notice-bad').waitFor({timeout: 60_000});
      for (const word of ['What to do', ...words]) await has(page.locator('.notice-bad'), word);
      await judge(typed);
      await shot(`fault-${words[0].replace(/\W+/g, '')}`);
    }
    saw('faults with their remedies');
  },

  // A login, step by step.
  async authorization() {
    await has(page.locator('.notice-bad'), 'What to do');
    await page.locator('.notice-bad').getByRole('button', {name: 'Log in'}).click();
    const page2 = context.waitForEvent('page');
    await page.locator('.ins-section a[target=_blank]').click();
    await has(page.locator('.ins-steps'), 'discovery of the resource');
    await has(page.locator('.ins-steps'), 'registration');
    saw('each request of discovery and registration');
    const there = await page2;
    await there.locator('[name=username]').fill(settings.user);
    await there.locator('[name=password]').fill(settings.password);
    await there.locator('button').first().click();
    await there.locator('[name=decision][value=allow]').click();
    await has(page.locator('.ins-head'), 'connected');
    await has(page.locator('.ins-steps'), 'token');
    const text = await page.locator('.ins-section').innerText();
    assert.ok(!/eyJ|refresh_token": "[^•]/.test(text), text);
    await page.locator('.ins-exchange > summary').last().click();
    await judge('authorization');
    await shot('authorization');
    saw('a login, and the connection that it made');
    await to('tools');
    await page.locator('.ins-entry', {hasText: 'Echo'}).first().click();
    await fields.first().fill('hello');
    await page.keyboard.press('Control+Enter');
    await has(outcome, 'hello');
    await outcome.getByRole('button', {name: 'Copy', exact: true}).click();
    await has(page.locator('.ins-copies'), 'curl -');
    await outcome.getByRole('button', {name: 'Raw'}).click();
    await has(page.locator('.ins-exchange'), '200');
    const shown = await outcome.innerText();
    assert.ok(!/eyJ|Bearer [^•*$"]/.test(shown), shown);
    await shot('curl');
    saw('a call as curl, without the token, and the request over HTTP');
  },

  // A view of a tool, in a frame of an origin of its own, which calls the tool itself.
  async app() {
    await has(page.locator('.ins-head'), 'connected');
    await call(settings.tool);
    const frame = page.frameLocator('.ins-app');
    await frame.locator('#server-time').filter({hasText: /\d{4}-\d\d-\d\dT/}).waitFor();
    const before = await frame.locator('#server-time').innerText();
    await frame.locator('#get-time-btn').click();
    await frame.locator('#server-time').filter({hasNotText: before}).waitFor();
    assert.equal(await page.locator('.ins-app').evaluate((one) => one.contentDocument), null);
    await judge('an app');
    await shot('app');
    saw('an app that shows the result, and calls a tool');
  },

  // Nothing that a hostile server wrote runs, wherever it is shown.
  async hostile() {
    await has(page.locator('.ins-head'), 'connected');
    const safe = async (where) => {
      const found = await page.evaluate(() => ({
        ran: window.ran,
        links: [...document.querySelectorAll('a[href], area[href]')].map((a) => a.href).filter((href) => !/^(https?:|mailto:|blob:)/.test(href)),
        handlers: [...document.querySelectorAll('*')].filter((node) => [...node.attributes].some(({name}) => name.startsWith('on') || name === 'style' || name === 'srcdoc')).map((node) => node.outerHTML.slice(0, 200)).filter((html) => !html.includes('class="ins-app"')),
        foreign: document.querySelectorAll('script:not([src="app.js"]), iframe, object, embed, base, main link, main meta, main style, main form[action]').length,
      }));
      assert.deepEqual(found, {ran: undefined, links: [], handlers: [], foreign: 0}, where);
    };
    const ways = async () => {
      for (const row of await outcome.locator('.ins-ways').all()) for (const button of await row.locator('button').all()) await button.click();
      for (let depth = 0; depth < 3; depth++) await page.evaluate(() => document.querySelectorAll('.ins-outcome details').forEach((one) => { one.open = true; }));
    };
    await safe('the overview');
    let asked = 0;
    for (const kind of settings.kinds) {
      await to(kind);
      await page.waitForFunction((n) => document.querySelectorAll('.ins-entry').length === n, settings.payloads);
      await safe(`the list of ${kind}`);
      for (let n = 0; n < settings.payloads; n += kind === 'tools' ? 1 : 3) {
        await page.locator('.ins-entry').nth(n).click();
        await page.locator('.ins-ask h2').waitFor();
        if (kind !== 'tools' && n % 6 !== 0) continue;
        await page.locator('.ins-actions .button-primary').click();
        if (await page.locator('.ins-ask > p.problem').innerText() !== '') await page.locator('.ins-actions .button-primary').click();
        const question = page.locator('.ins-question');
        await badge.filter({hasNotText: 'running'}).or(question).first().waitFor({timeout: 20_000});
        if (await question.count() > 0) {
          asked++;
          await safe(`the question of ${n}`);
          await question.getByRole('button', {name: 'Decline'}).click();
          await badge.filter({hasNotText: 'running'}).waitFor({timeout: 20_000});
        }
        if (kind === 'tools' && n === 0) await has(outcome.locator('.ins-findings'), 'does not fit');
        if (n % 3 === 0) await ways();
        await safe(`${kind} ${n}`);
      }
    }
    assert.ok(asked > 2 || !settings.kinds.includes('tools'), `${asked} questions`);
    saw('every list, every result');
    await page.reload();
    await has(page.locator('.ins-head'), 'connected');
    await to('history');
    for (let n = 0; n < 8; n++) {
      await page.locator('tbody a').nth(n * 2).click();
      await page.getByRole('button', {name: 'Raw'}).click();
      await page.getByRole('button', {name: 'Copy', exact: true}).click();
      await safe(`history ${n}`);
    }
    await page.locator('tbody input').nth(0).check();
    await page.locator('tbody input').nth(1).check();
    await page.getByRole('button', {name: 'Compare two'}).click();
    await page.locator('.ins-diff').first().waitFor();
    await safe('the difference');
    saw('what is stored, after the page was loaded again');
    await to('activity');
    for (const name of ['Messages', 'Output', 'Notifications']) {
      await page.locator('.ins-ways').getByRole('button', {name}).click();
      for (const one of (await page.locator('.ins-events summary').all()).slice(0, 10)) await one.click();
      await safe(`activity: ${name}`);
    }
    await judge('activity');
    await page.evaluate(() => { for (const a of document.querySelectorAll('main a')) if (a.target !== '_blank') a.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); });
    await page.waitForTimeout(500); // for what would run late
    await safe('the end');
    saw('activity');
  },
};

try {
  await scenarios[scenario]();
} catch (error) {
  faults.push(String(error.stack).slice(0, 4000));
  await shot('failed');
}
for (const fault of faults) console.log(`FAULT ${fault.replaceAll('\n', '\n  ')}`);
await close();
