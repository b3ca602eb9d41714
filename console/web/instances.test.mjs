// Which process takes the place of one that ended.
import test from 'node:test';
import assert from 'node:assert/strict';
import {successor} from './instances.js';

test('a process has a successor if one, and only one, does what it did', () => {
  const up = (pid, endpoint, ...names) => ({pid, endpoint, folder: '/a', servers: names.map((name) => ({name}))});
  const was = up(1, 'http://127.0.0.1:7717/mcp', 'files');
  for (const [what, all, before, name, want] of [
    ['the gateway began again', [up(2, was.endpoint, 'files'), up(3, 'stdio', 'files')], was, 'files', 2],
    ['another one runs', [up(3, 'stdio', 'files')], was, 'files', undefined],
    ['it has the server no more', [up(2, was.endpoint, 'memory')], was, 'files', undefined],
    ['the gateway itself', [up(2, was.endpoint, 'memory')], was, '', 2],
    ['two at stdio', [up(2, 'stdio', 'files'), up(3, 'stdio', 'files')], up(1, 'stdio', 'files'), 'files', undefined],
    ['a link to a process of before', [up(2, 'stdio', 'files'), up(3, 'stdio', 'memory')], null, 'files', 2],
    ['a link to one of two', [up(2, 'stdio', 'files'), up(3, 'stdio', 'files')], null, 'files', undefined],
    ['nothing runs', [], null, '', undefined],
    ['one without servers', [{pid: 2}], null, 'files', undefined],
  ]) assert.equal(successor(all, before, name)?.pid, want, what);
});
