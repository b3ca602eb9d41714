import assert from 'node:assert/strict';
import {test} from 'node:test';
import {looksLike, MAX_TEXT, parse, says} from './markdown.js';

const paragraph = (...children) => ({type: 'paragraph', children});

test('blocks of Markdown become nodes', () => {
  const cases = {
    'one\ntwo\n\nthree': [paragraph('one\ntwo'), paragraph('three')],
    '## A *b* ##': [{type: 'heading', level: 2, children: ['A ', {type: 'em', children: ['b']}]}],
    '#no heading': [paragraph('#no heading')],
    '```js x\na < b\n\n```\nend': [{type: 'code', language: 'js', text: 'a < b\n'}, paragraph('end')],
    '~~~\nnever closed': [{type: 'code', language: '', text: 'never closed'}],
    '    four\n    spaces': [{type: 'code', language: '', text: 'four\nspaces'}],
    '> a\n> > b': [{type: 'quote', blocks: [paragraph('a'), {type: 'quote', blocks: [paragraph('b')]}]}],
    '---': [{type: 'rule'}],
    '* * *': [{type: 'rule'}],
    '- a\n- b\n  - c\n\ntext': [{type: 'list', ordered: false, start: 1, items: [
      [paragraph('a')], [paragraph('b'), {type: 'list', ordered: false, start: 1, items: [[paragraph('c')]]}]]}, paragraph('text')],
    '3. a\n4. b': [{type: 'list', ordered: true, start: 3, items: [[paragraph('a')], [paragraph('b')]]}],
    '- a\n\n- b': [{type: 'list', ordered: false, start: 1, items: [[paragraph('a')], [paragraph('b')]]}],
    '- a\n1. b': [{type: 'list', ordered: false, start: 1, items: [[paragraph('a')]]}, {type: 'list', ordered: true, start: 1, items: [[paragraph('b')]]}],
    'a | b\n:-|-:\n1 | 2 \\| 3\n\nend': [{type: 'table', align: ['left', 'right'], head: [['a'], ['b']], rows: [[['1'], ['2 | 3']]]}, paragraph('end')],
    'a | b\nno table': [paragraph('a | b\nno table')],
    '': [],
  };
  for (const [text, want] of Object.entries(cases)) assert.deepEqual(parse(text), want, text);
});

test('what is within a line becomes nodes', () => {
  const strong = (...children) => ({type: 'strong', children});
  const em = (...children) => ({type: 'em', children});
  const link = (address, ...children) => ({type: 'link', address, children});
  const cases = {
    '**a _b_** c': [strong('a ', em('b')), ' c'],
    '***both***': [strong(em('both'))],
    '*a **b** c*': [em('a ', strong('b'), ' c')],
    '~~gone~~ ~kept~': [{type: 'strike', children: ['gone']}, ' ~kept~'],
    'snake_case_name 2 * 3 * 4': ['snake_case_name 2 * 3 * 4'],
    '`a *b*` ``c ` d``': [{type: 'code', text: 'a *b*'}, ' ', {type: 'code', text: 'c ` d'}],
    '`open': ['`open'],
    '\\*no\\* \\z': ['*no* \\z'],
    '[a *b*](https://x.example/(c) "title") end': [link('https://x.example/(c)', 'a ', em('b')), ' end'],
    '[a](javascript:alert(1))': [link('javascript:alert(1)', 'a')],
    '[not a link] (here)': ['[not a link] (here)'],
    '![text](pic.png)': [{type: 'image', address: 'pic.png', text: 'text'}],
    'see https://x.example/a, and <https://y.example>': ['see ', link('https://x.example/a', 'https://x.example/a'), ', and ', link('https://y.example', 'https://y.example')],
    '<script>alert(1)</script> <b onclick=x>': ['<script>alert(1)</script> <b onclick=x>'],
    'a  \nb\\\nc': ['a', {type: 'break'}, 'b', {type: 'break'}, 'c'],
  };
  for (const [text, want] of Object.entries(cases)) assert.deepEqual(parse(text), [paragraph(...want)], text);
});

test('a text that was made to be slow or deep is read in a moment', () => {
  const nested = (mark) => mark.repeat(MAX_TEXT / mark.length);
  const began = performance.now();
  for (const text of ['*a '.repeat(30_000), nested('['), nested('[]('), nested('!['), nested('*'), nested('_a'), nested('`'), nested('` '), nested('> '), nested('- '),
    '- '.repeat(500) + '\n' + nested('  - a\n'), nested('**a'), nested('~~a'), nested('<http://'), nested('|'), nested('a|\n-|\n'), nested('[a]'), nested('\\'), nested('http://a '), nested('[[a]')]) {
    assert.ok(Array.isArray(parse(text)));
  }
  assert.ok(performance.now() - began < 5000, `it took ${performance.now() - began} ms`);
});

test('nothing of a long text is lost', () => {
  const [last] = parse('x'.repeat(MAX_TEXT) + '# end').slice(-1);
  assert.deepEqual(last, {type: 'code', language: '', text: '# end'});
});

test('plain text differs from Markdown', () => {
  for (const text of ['# a', '- a', 'x **b**', '```\na', '[a](b)', '|a|b|']) assert.ok(looksLike(text), text);
  for (const text of ['plain', '{"a": 1}', 'a - b', '2 * 3 * 4']) assert.ok(!looksLike(text), text);
});

test('there is no link in a link', () => {
  assert.deepEqual(parse('[**https://bank.example** b](https://evil.example)')[0].children, [
    {type: 'link', address: 'https://evil.example', children: [{type: 'strong', children: ['https://bank.example']}, ' b']}]);
});

test('words say where a link leads only where they read as its address', () => {
  for (const address of ['https://bank.example', 'https://bank.example/a?b=c']) assert.ok(says(address, new URL(address).href), address);
  for (const [words, address] of [['https://bank.example', 'https://evil.example'],
    ['https://\u202eelpmaxe.live@elpmaxe.knab', 'https://\u202eelpmaxe.live@elpmaxe.knab'], // reads as bank.example@evil.example
    ['https://b\u0430nk.example', 'https://b\u0430nk.example'], // a Cyrillic letter
    ['https:bank.example', 'https:bank.example']]) assert.ok(!says(words, new URL(address).href), words);
});
