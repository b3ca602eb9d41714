// What differs between two values of JSON, and a value in one line.

import {isRaw, kind} from './json.js';

const maxText = 400; // characters of a string in a tree
const maxDifferences = 300;
const maxDepth = 64;

const isBranch = (value) => value !== null && typeof value === 'object' && !isRaw(value);

/** gist is a value in one short line. */
export function gist(value) {
  switch (kind(value)) {
    case 'object': return `{${Object.keys(value).length}}`;
    case 'array': return `[${value.length}]`;
    case 'string': return JSON.stringify(value.length > maxText ? value.slice(0, maxText) + '…' : value);
    default: return isRaw(value) ? value.rawJSON : String(value);
  }
}

/**
 * differences is what one has to change in a value to get another one: {path, kind: 'added' | 'removed' | 'changed', before,
 * after} for each place.
 */
export function differences(before, after) {
  const found = [];
  compare(before, after, '', 0, found);
  return {found: found.slice(0, maxDifferences), more: found.length > maxDifferences};
}

function compare(before, after, path, depth, found) {
  if (found.length > maxDifferences || Object.is(before, after) || isRaw(before) && isRaw(after) && before.rawJSON === after.rawJSON) return;
  if (depth < maxDepth && isBranch(before) && isBranch(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const place = Array.isArray(before) ? `${path}[${key}]` : join(path, key);
      if (!Object.hasOwn(before, key)) found.push({path: place, kind: 'added', after: after[key]});
      else if (!Object.hasOwn(after, key)) found.push({path: place, kind: 'removed', before: before[key]});
      else compare(before[key], after[key], place, depth + 1, found);
    }
    return;
  }
  if (depth >= maxDepth && JSON.stringify(before) === JSON.stringify(after)) return;
  found.push({path, kind: 'changed', before, after});
}

function join(path, key) {
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}
