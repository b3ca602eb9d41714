import assert from 'node:assert/strict';
import {test} from 'node:test';
import {expand, pairs, server, split, variables} from './command.js';

test('what is typed is a URL or a command', () => {
  const cases = {
    'https://x.example/mcp': {url: 'https://x.example/mcp'},
    ' npx -y "some server" ': {command: 'npx', args: ['-y', 'some server']},
    "A=1 B='x y' prog": {command: 'prog', env: {A: '1', B: 'x y'}},
    'C:\\tools\\s.exe -a': {command: 'C:\\tools\\s.exe', args: ['-a']},
    '': {problem: 'empty'},
    'npx "open': {problem: 'quote'},
    'A=1': {problem: 'variable'},
  };
  for (const [text, want] of Object.entries(cases)) assert.deepEqual(server(text), want, text);
});

test('words are split as a shell does, and nothing is expanded', () => {
  assert.deepEqual(split(`a 'b "c' "d \\"e" f\\ g '' $HOME ; *`), ['a', 'b "c', 'd "e', 'f g', '', '$HOME', ';', '*']);
});

test('headers are lines', () => {
  assert.deepEqual(pairs('Authorization: Bearer a:b\n\nX-One:1'), {Authorization: 'Bearer a:b', 'X-One': '1'});
  assert.equal(pairs('no header'), null);
});

test('URI templates take values', () => {
  const values = {a: 'x y', b: 'p/q', c: '', d: 'é'};
  const cases = {
    'f://{a}/{+b}': 'f://x%20y/p/q',
    'f://{b}{?a,c,d}': 'f://p%2Fq?a=x%20y&d=%C3%A9',
    'f:/{/a,b}{#d}{.a}{;b}{&d}': 'f://x%20y/p%2Fq#%C3%A9.x%20y;b=p%2Fq&d=%C3%A9',
    'f://{a:1}{d*}{none}': 'f://x%C3%A9',
    'f://plain': 'f://plain',
  };
  for (const [template, want] of Object.entries(cases)) assert.equal(expand(template, values), want, template);
  assert.deepEqual(variables('f://{a}/{+b,a}{?c*,d:3}'), ['a', 'b', 'c', 'd']);
  assert.deepEqual(variables('f://{__proto__}'), ['__proto__']);
  assert.equal(expand('f://{__proto__}', {}), 'f://');
});
