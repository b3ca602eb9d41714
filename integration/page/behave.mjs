// behave.mjs WEB OWN CHROMIUM: what a form does for a person, with the keyboard, a screen reader, and a hostile schema.
// Prints a line of JSON for each: what, and the fault where it does not.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {browse} from './browser.mjs';

const [web, own, program] = process.argv.slice(2);
const {page, faults, close} = await browse(web, own, program, 'drive.js');

async function it(what, run) {
  let fault = '';
  try {
    await run();
    assert.deepEqual(faults.splice(0), []);
  } catch (e) {
    fault = String(e.message).slice(0, 800);
  }
  console.log(JSON.stringify({what, fault}));
}

// show makes a form of a schema, as JSON; sent is what it would send now.
const show = (schema, options = {}) => page.evaluate(([schema, options]) => {
  window.asked = [];
  if (options.complete) options.complete = async (path, text) => {
    window.asked.push([path, text]);
    return ['Oslo', 'Ottawa'];
  };
  window.f = form(schema, options);
  document.querySelector('main').replaceChildren(f.node);
}, [schema, options]);
const sent = () => page.evaluate(() => JSON.stringify(f.value()));
const problems = () => page.evaluate(() => f.problems());
const field = (name) => page.locator(`[data-key="${name}"] .form-input`);
const keys = async (...all) => {
  for (const key of all) await (['Tab', 'Enter', 'Backspace'].includes(key) ? page.keyboard.press(key) : page.keyboard.type(key));
};

const person = {type: 'object', required: ['name'], properties: {name: {type: 'string', description: 'Who it is'}, age: {type: 'integer', minimum: 0}, color: {enum: ['red', 'green']}}};

await it('is filled in with the keyboard alone', async () => {
  await show(person);
  await page.evaluate(() => f.focus());
  await keys('Ada', 'Tab', '36', 'Tab', 'g', 'Tab');
  assert.equal(await sent(), '{"name":"Ada","age":36,"color":"green"}');
});
await it('leaves out what nobody touched or what was taken back, and sends an empty text when asked to', async () => {
  await show({...person, required: []});
  assert.equal(await sent(), '{}');
  await page.evaluate(() => f.focus());
  await keys('A', 'Backspace');
  assert.equal(await sent(), '{}');
  await page.getByRole('button', {name: 'Send an empty text for name'}).click();
  assert.equal(await sent(), '{"name":""}');
  await page.getByRole('button', {name: 'Leave out name'}).click();
  assert.equal(await sent(), '{}');
});
await it('sends every digit of a number that JavaScript cannot hold', async () => {
  await show({type: 'object', properties: {id: {type: 'integer'}, x: {type: 'number'}}});
  await page.locator('[data-key=id] input').fill('123456789012345678901');
  await page.locator('[data-key=x] input').fill('0.1234567890123456789');
  const exact = '{"id":123456789012345678901,"x":0.1234567890123456789}';
  assert.equal(await sent(), exact);
  await page.getByRole('button', {name: 'JSON'}).click();
  await page.getByRole('button', {name: 'Form'}).click();
  assert.equal(await sent(), exact);
  assert.equal(await page.locator('[data-key=id] input').inputValue(), '123456789012345678901');
  assert.deepEqual(await problems(), []);
});
await it('keeps a number that is none as it was typed, and says so', async () => {
  await show(person, {value: {name: 'Ada'}});
  await page.locator('[data-key=age] input').fill('12a');
  assert.deepEqual(await problems(), [{path: ['age'], text: 'The type must be integer.'}]);
  assert.equal(await page.locator('[data-key=age] input').inputValue(), '12a');
});
await it('keeps what it cannot show when it changes between form and JSON', async () => {
  const value = {name: {deep: [1, null]}, extra: {x: [true]}, age: 'old', color: 'blue'};
  await show({...person, additionalProperties: false}, {value});
  for (const name of ['JSON', 'Form', 'JSON', 'Form']) await page.getByRole('button', {name, exact: true}).click();
  assert.deepEqual(JSON.parse(await sent()), value);
  assert.deepEqual((await problems()).map((one) => one.path.join()), ['name', 'color', 'age', 'extra'].sort((a, b) => ['name', 'extra', 'age', 'color'].indexOf(a) - ['name', 'extra', 'age', 'color'].indexOf(b)));
});
await it('takes raw JSON, and stays there while it is none', async () => {
  await show(person);
  await page.getByRole('button', {name: 'JSON'}).click();
  await page.getByRole('textbox', {name: 'JSON'}).fill('{"name": "Ada", ');
  await page.getByRole('button', {name: 'Form'}).click();
  assert.match(await page.locator('.form-body .problem').textContent(), /^This is not JSON: /);
  assert.equal((await problems()).length, 1);
  await page.getByRole('textbox', {name: 'JSON'}).fill('{"name": "Ada", "more": 1e2}');
  await page.getByRole('button', {name: 'Form'}).click();
  assert.equal(await field('name').inputValue(), 'Ada');
  assert.equal(await sent(), '{"name":"Ada","more":100}');
});
await it('says what is wrong at the field once it was left, and ties it and the description to it', async () => {
  await show(person);
  assert.equal(await page.locator('.problem:visible').count(), 0);
  await field('name').press('Tab');
  await page.locator('[data-key=age] input').focus();
  const input = page.locator('[data-key=name] input');
  assert.equal(await input.getAttribute('aria-invalid'), 'true');
  assert.equal(await input.getAttribute('aria-required'), 'true');
  const described = () => input.evaluate((node) => node.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).textContent));
  assert.deepEqual(await described(), ['Who it is', 'Fill this in.']);
  await input.fill('Ada');
  await input.press('Tab');
  await page.locator('[data-key=age] input').focus();
  assert.equal(await input.getAttribute('aria-invalid'), null);
  assert.deepEqual(await described(), ['Who it is', '']);
});
await it('focuses the first field with a problem, and says in a live region how many there are', async () => {
  await show({...person, required: ['age', 'color']});
  assert.equal((await problems()).length, 2);
  assert.equal(await page.getByRole('status').first().textContent(), '2 fields need attention.');
  await page.evaluate(() => f.focus());
  assert.equal(await page.evaluate(() => document.activeElement.closest('.form-row').dataset.key), 'age');
});
await it('adds, moves and removes items, and the focus stays with what was moved', async () => {
  await show({type: 'object', properties: {tags: {type: 'array', items: {type: 'string'}}}});
  for (const text of ['a', 'b', 'c']) {
    await page.getByRole('button', {name: 'Add an item tags'}).press('Enter');
    await keys(text);
  }
  assert.equal(await sent(), '{"tags":["a","b","c"]}');
  await page.getByRole('button', {name: 'Move up: tags 3'}).press('Enter');
  await page.keyboard.press('Enter');
  assert.equal(await sent(), '{"tags":["c","a","b"]}');
  await page.getByRole('button', {name: 'Remove: tags 2'}).press('Enter');
  assert.equal(await sent(), '{"tags":["c","b"]}');
});
await it('keeps what was filled in when the kind is changed and changed back', async () => {
  await show({oneOf: [{title: 'A', type: 'object', properties: {x: {type: 'string'}, same: {type: 'string'}}, required: ['x']}, {title: 'B', type: 'object', properties: {y: {type: 'integer'}, same: {type: 'string'}}, required: ['y']}]});
  await page.locator('[data-key=x] input').fill('1');
  await page.locator('[data-key=same] input').fill('s');
  const kind = page.getByLabel(/^Kind of/);
  await kind.selectOption('B');
  assert.equal(await sent(), '{"same":"s"}');
  await page.locator('[data-key=y] input').fill('2');
  await kind.selectOption('A');
  assert.equal(await sent(), '{"x":"1","same":"s"}');
});
await it('shows the fields that a value asks for while somebody types, and the focus stays', async () => {
  await show({type: 'object', properties: {card: {type: 'string'}, to: {type: 'string'}}, dependentRequired: {card: ['to']}, dependentSchemas: {card: {properties: {code: {type: 'string'}}, required: ['code']}}});
  await page.locator('[data-key=card] input').focus();
  await keys('12');
  assert.equal(await page.evaluate(() => document.activeElement.value), '12');
  assert.deepEqual((await problems()).map((one) => one.path[0]).sort(), ['code', 'to']);
  await keys('Backspace', 'Backspace');
  assert.equal(await page.locator('[data-key=code]').count(), 0);
});
await it('asks for completions of what is typed', async () => {
  await show({type: 'object', properties: {city: {type: 'string'}}}, {complete: true});
  await page.locator('[data-key=city] input').focus();
  await keys('O');
  await page.waitForFunction(() => document.querySelectorAll('datalist option').length === 2);
  assert.deepEqual(await page.evaluate(() => asked.at(-1)), [['city'], 'O']);
});
await it('reads a file as base64', async () => {
  await show({type: 'object', properties: {data: {type: 'string', format: 'byte'}}});
  await page.getByLabel('File for data').setInputFiles({name: 'a.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 255, 7])});
  await page.waitForFunction(() => f.value().data);
  assert.equal(await sent(), '{"data":"AP8H"}');
});
await it('keeps the lines of a text that is pasted into one line', async () => {
  await show(person);
  await field('name').evaluate((node) => {
    const data = new DataTransfer();
    data.setData('text/plain', 'a\nb');
    node.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
  });
  assert.equal(await sent(), '{"name":"a\\nb"}');
  assert.equal(await page.locator('[data-key=name] textarea').inputValue(), 'a\nb');
});
await it('has the defaults of a question filled in, and of a tool only what must be', async () => {
  const schema = {type: 'object', required: ['b'], properties: {a: {type: 'string', default: 'x'}, b: {type: 'integer', default: 1}, c: {type: 'string'}}};
  await show(schema, {defaults: true});
  assert.deepEqual(JSON.parse(await sent()), {a: 'x', b: 1});
  await show(schema);
  assert.equal(await sent(), '{"b":1}');
});
await it('finds an option among thousands by typing', async () => {
  await show({type: 'object', properties: {zone: {enum: Array.from({length: 5000}, (_, i) => `zone ${i}`)}}});
  await page.getByLabel('Find a value for zone').fill('4321');
  await page.locator('[data-key=zone] select').selectOption({label: 'zone 4321'});
  assert.equal(await sent(), '{"zone":"zone 4321"}');
});
await it('asks for no name where a tool has no arguments, but takes any', async () => {
  await show({type: 'object'});
  const name = page.getByLabel('Name of a new entry');
  assert.equal(await name.isVisible(), false);
  await page.getByText('Other arguments').click();
  await name.fill('a');
  await name.press('Enter');
  await page.locator('[data-key=a] select').first().waitFor();
});
await it('adds an entry of any name', async () => {
  await show({type: 'object', additionalProperties: {type: 'integer'}});
  for (const name of ['__proto__', 'constructor']) {
    await page.getByLabel('Name of a new entry').fill(name);
    await page.getByLabel('Name of a new entry').press('Enter');
    await keys('7');
  }
  assert.equal(await sent(), '{"__proto__":7,"constructor":7}');
  await page.getByRole('button', {name: 'Remove: __proto__'}).click();
  assert.equal(await sent(), '{"constructor":7}');
});

// Each is made, asked for its problems and turned to JSON and back within a second.
const hostile = {
  'a reference to itself': () => ({$ref: '#'}),
  'references in a circle': () => ({$ref: '#/$defs/a', $defs: {a: {$ref: '#/$defs/b'}, b: {allOf: [{$ref: '#/$defs/a'}, {anyOf: [{$ref: '#/$defs/b'}, {$ref: '#/$defs/a'}]}]}}}),
  'an object that requires itself ten times': () => ({type: 'object', required: [...'abcdefghij'], properties: Object.fromEntries([...'abcdefghij'].map((k) => [k, {$ref: '#'}]))}),
  'a choice of itself': () => ({oneOf: [{$ref: '#'}, {$ref: '#'}, {type: 'object', required: ['x'], properties: {x: {$ref: '#'}}}]}),
  'doubling references': () => ({$ref: '#/$defs/d0', $defs: Object.fromEntries(Array.from({length: 40}, (_, i) => [`d${i}`, {anyOf: [{$ref: `#/$defs/d${i + 1}`}, {not: {$ref: `#/$defs/d${i + 1}`}}]}]).concat([['d40', {type: 'string', minLength: 3}]]))}),
  'ten thousand levels': () => { let s = {type: 'string'}; for (let i = 0; i < 10000; i++) s = {type: 'object', required: ['a'], properties: {a: s}}; return s; },
  'ten thousand levels of allOf': () => { let s = {type: 'string'}; for (let i = 0; i < 10000; i++) s = {allOf: [s]}; return s; },
  'ten thousand properties': () => ({type: 'object', properties: Object.fromEntries(Array.from({length: 10000}, (_, i) => [`p${i}`, {type: 'string', description: 'x'.repeat(100)}])), required: ['p9999']}),
  'ten thousand that are required': () => ({type: 'object', required: Array.from({length: 10000}, (_, i) => `p${i}`)}),
  'fifty thousand options': () => ({type: 'object', properties: {a: {enum: Array.from({length: 50000}, (_, i) => 'option ' + i)}}}),
  'a thousand branches': () => ({anyOf: Array.from({length: 1000}, (_, i) => ({type: 'object', properties: {[`k${i}`]: {type: 'string'}}, required: [`k${i}`]}))}),
  'a pattern that takes years': () => ({type: 'object', required: ['a'], properties: {a: {type: 'string', pattern: '^(a+)+$', default: 'a'.repeat(60) + '!'}, b: {type: 'string', pattern: '^(([a-z])+.)+[A-Z]([a-z])+$', default: 'a'.repeat(60)}}}),
  'patterns for names that take years': () => ({type: 'object', patternProperties: {'^(a|a)*$': {}, '(x+x+)+y': {}}, default: {['a'.repeat(50) + '!']: 1, ['x'.repeat(50)]: 1}}),
  'a pattern that is none': () => ({type: 'object', properties: {a: {type: 'string', pattern: '(['}, b: {type: 'string', pattern: 5}}, required: ['a']}),
  'no type of anything is right': () => ({type: {}, properties: {a: {type: 'money', enum: {}, title: {x: 1}, description: 7, required: 'yes', items: 'x', oneOf: {}, anyOf: 'y', allOf: 5, $ref: 9, minLength: 'z', examples: 'e', format: [], default: {}}, b: null, c: 5, d: [], e: 'text'}, required: [null, 7, 'a', {}], patternProperties: [], dependentRequired: 5, if: 5}),
  'references to nowhere': () => ({type: 'object', properties: {a: {$ref: '#/nowhere'}, b: {$ref: 'http://127.0.0.1:1/x.json'}, c: {$ref: '#%'}, d: {$ref: '#/constructor/prototype'}}, required: ['a', 'b', 'c', 'd']}),
  'names of JavaScript': () => JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string","default":"x"},"constructor":{"type":"object","properties":{"prototype":{"type":"string"}},"required":["prototype"]},"hasOwnProperty":{"type":"string"}},"required":["__proto__","constructor","hasOwnProperty"]}'),
  'markup everywhere': () => { const x = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'; return {title: x, description: x, type: 'object', properties: {[x]: {type: 'string', title: x, description: x, default: x, examples: [x], enum: [x, 'javascript:window.hacked=1'], pattern: x}}, required: [x]}; },
  'a description of a megabyte': () => ({type: 'object', description: 'word '.repeat(200000), properties: {a: {type: 'string', title: 't'.repeat(100000), description: 'w'.repeat(1000000)}}}),
  'lengths without end': () => ({type: 'object', required: ['a', 'b'], properties: {a: {type: 'array', minItems: 1e12, items: {type: 'string', minLength: 1e15}}, b: {type: 'string', minLength: 1e12, maxLength: -1}, c: {type: 'array', maxItems: -5}, d: {type: 'array', prefixItems: Array.from({length: 5000}, () => ({type: 'array'}))}}}),
  'nothing': () => false,
  'a list of lists of lists': () => ({$defs: {l: {type: 'array', minItems: 3, items: {$ref: '#/$defs/l'}}}, $ref: '#/$defs/l'}),
  'a thousand ifs': () => ({type: 'object', properties: {a: {type: 'string'}}, allOf: Array.from({length: 1000}, (_, i) => ({if: {properties: {a: {const: String(i)}}, required: ['a']}, then: {required: [`r${i}`]}}))}),
};
for (const [name, make] of Object.entries(hostile)) {
  await it(`stands ${name}`, async () => {
    const took = await page.evaluate((source) => {
      const schema = (0, eval)(`(${source})`)();
      const begun = performance.now();
      const f = form(schema);
      document.querySelector('main').replaceChildren(f.node);
      f.node.getBoundingClientRect();
      const made = performance.now() - begun;
      f.problems();
      f.node.querySelectorAll('.form-toolbar button')[1].click();
      f.node.querySelectorAll('.form-toolbar button')[0].click();
      f.focus();
      const all = performance.now() - begun;
      sample(schema);
      return {made, all, example: performance.now() - begun - all, hacked: window.hacked, polluted: ({}).prototype !== undefined || Object.prototype.x !== undefined};
    }, make.toString());
    if (process.env.TIMES) console.error(name, took);
    assert.equal(took.hacked, undefined);
    assert.equal(took.polluted, false);
    assert.ok(took.made < 1000 && took.all < 3000 && took.example < 10_000, JSON.stringify(took));
  });
}
await close();

// axe-core puts a script into the page, which the policy of the console would not let in.
const open = await browse(web, own, program, 'drive.js', {bypassCSP: true});
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
for (const theme of ['light', 'dark']) {
  for (const line of readFileSync(join(own, 'kinds.jsonl'), 'utf8').split('\n').filter(Boolean)) {
    const {id, schema} = JSON.parse(line);
    await it(`has no barrier: ${id}, ${theme}`, async () => {
      await open.page.evaluate(async ([schema, theme, axe]) => {
        document.documentElement.dataset.theme = theme;
        if (!window.axe) (0, eval)(axe);
        const empty = form(schema), full = form(schema), raw = form(schema);
        document.querySelector('main').replaceChildren(empty.node, full.node, raw.node);
        const value = sample(schema);
        if (value !== undefined) fillForm(full, value);
        raw.node.querySelectorAll('.form-toolbar button')[1].click();
        empty.problems();
      }, [schema, theme, axe]);
      const found = await open.page.evaluate(() => axe.run('main', {resultTypes: ['violations']}));
      assert.deepEqual(found.violations.map((one) => `${one.impact} ${one.id}: ${one.nodes.slice(0, 2).map((n) => n.html.slice(0, 150)).join(' | ')}`), []);
    });
  }
}
assert.deepEqual(open.faults, []);
await open.close();
