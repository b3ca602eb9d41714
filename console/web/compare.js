// What differs between two texts, line by line.

/** Comparisons of lines that are made at most; two texts that differ in more are said to differ as a whole. */
export const MAX_WORK = 4_000_000;

/** diff gives lines: {kind: 'same' | 'less' | 'more', text}, less in the first text only, more in the second only. */
export function diff(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const of = (kind) => (text) => ({kind, text});
  return [
    ...a.slice(0, head).map(of('same')),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(of('same')),
  ];
}

function middle(a, b) {
  const all = [];
  if (a.length * b.length > MAX_WORK) return [...a.map((text) => ({kind: 'less', text})), ...b.map((text) => ({kind: 'more', text}))];
  // common[i][j] is how many lines a from i on and b from j on have in common, in order.
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      all.push({kind: 'same', text: a[i++]});
      j++;
    } else if (i < a.length && (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      all.push({kind: 'less', text: a[i++]});
    } else {
      all.push({kind: 'more', text: b[j++]});
    }
  }
  return all;
}

/** folded takes out of a diff the same lines that are more than around away from others: {kind: 'fold', lines}. */
export function folded(lines, around = 3) {
  const all = [];
  for (let at = 0; at < lines.length;) {
    if (lines[at].kind !== 'same') {
      all.push(lines[at++]);
      continue;
    }
    let end = at;
    while (end < lines.length && lines[end].kind === 'same') end++;
    const first = at === 0 ? 0 : around;
    const last = end === lines.length ? 0 : around;
    if (end - at > first + last + 1) {
      all.push(...lines.slice(at, at + first), {kind: 'fold', lines: lines.slice(at + first, end - last)}, ...lines.slice(end - last, end));
    } else {
      all.push(...lines.slice(at, end));
    }
    at = end;
  }
  return all;
}

/** sorted is JSON whose objects have their members in order: what only stands elsewhere does not differ. */
export function sorted(value) {
  return JSON.stringify(value, (_, v) => (typeof v === 'object' && v !== null && !Array.isArray(v) && Object.getPrototypeOf(v) !== null
    ? Object.fromEntries(Object.entries(v).sort(([x], [y]) => (x < y ? -1 : 1))) : v), 2) ?? '';
}
