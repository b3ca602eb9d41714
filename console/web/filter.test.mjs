// A filter stands in the page's address and can be read from it again.
import test from 'node:test';
import assert from 'node:assert/strict';
import {isEmpty, isWhole, queryOf, readAddress, streamQuery, withField, writeAddress} from './filter.js';

test('what is written into the address is read from it', () => {
  for (const state of [
    {seq: 0, list: false, filter: {}},
    {seq: 812, list: true, filter: {errors: 'true', ping: 'true'}},
    {seq: 0, list: false, filter: {text: 'a&b=c #?/ 天気', client: 'me/1', server: 'x y', method: 'tools/call', name: 'add', pid: '12', call: '3', kind: 'error'}},
  ]) assert.deepEqual(readAddress(writeAddress(state)), state);
});

test('an address is short, and always the same', () => {
  assert.equal(writeAddress({seq: 0, list: false, filter: {}}), '');
  assert.equal(writeAddress({seq: 0, list: true, filter: {errors: 'true', name: 'add', server: 'a'}}), '?server=a&name=add&errors=true&view=list');
  assert.equal(writeAddress({seq: 7, list: false, filter: {}}), '7');
});

test('what is no filter is left out', () => {
  for (const [rest, filter] of [
    ['?pid=x&call=-1&errors=maybe&server=&__proto__=1&unknown=2', {}],
    ['abc?text=%20%20', {}],
    ['?errors=1', {errors: 'true'}],
  ]) assert.deepEqual(readAddress(rest), {seq: 0, list: false, filter});
});

test('one field changes and the others stay', () => {
  const filter = {server: 'a', errors: 'true'};
  assert.deepEqual(withField(filter, 'errors', ''), {server: 'a'});
  assert.deepEqual(withField(filter, 'server', 'b'), {server: 'b', errors: 'true'});
  assert.deepEqual(filter, {server: 'a', errors: 'true'});
  assert.equal(isEmpty(withField({text: 'x'}, 'text', '')), true);
  assert.equal(queryOf({text: 'a b', errors: 'true'}).toString(), 'text=a+b&errors=true&ping=false');
});

test('pings are there only where somebody asks for them', () => {
  assert.equal(streamQuery({}).toString(), 'ping=false&headers=false');
  assert.equal(streamQuery({ping: 'true'}).toString(), 'headers=false');
  assert.equal(streamQuery({method: 'ping'}).toString(), 'method=ping&headers=false');
  assert.equal(writeAddress({seq: 0, list: false, filter: {ping: 'true'}}), '?ping=true');
});

test('some filters show requests without their answers', () => {
  const whole = [{}, {server: 'a', call: '1', pid: '2', method: 'm', name: 'n', client: 'c'}, {text: 'x'}, {errors: 'true'}, {kind: 'request'}].map(isWhole);
  assert.deepEqual(whole, [true, true, false, false, false]);
});
