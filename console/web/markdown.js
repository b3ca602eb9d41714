// Markdown as a tree of nodes, which whoever shows it makes elements of: there is no HTML anywhere. What a server wrote may
// be made to be slow or deep, so all looking ahead and all nesting ends somewhere; what is beyond is plain text.

/** Characters that are read; what follows is plain text. */
export const MAX_TEXT = 100_000;
/** Blocks in blocks, and emphasis in emphasis. */
const MAX_DEPTH = 8;
/** Characters from the beginning of a link or emphasis to its end. */
const MAX_AHEAD = 2_000;

/**
 * parse gives the blocks of a text: {type: 'heading', level, children}, {type: 'paragraph', children},
 * {type: 'code', language, text}, {type: 'quote', blocks}, {type: 'list', ordered, start, items: [blocks]},
 * {type: 'table', align, head: [children], rows: [[children]]} and {type: 'rule'}. Children are texts, and
 * {type: 'strong' | 'em' | 'strike', children}, {type: 'code', text}, {type: 'link', address, children},
 * {type: 'image', address, text} and {type: 'break'}.
 */
export function parse(text) {
  const parsed = blocks(text.slice(0, MAX_TEXT).replace(/\r\n?/g, '\n').split('\n'), 0);
  if (text.length > MAX_TEXT) parsed.push({type: 'code', language: '', text: text.slice(MAX_TEXT)});
  return parsed;
}

/** looksLike says whether a text has anything that Markdown would show differently. */
export function looksLike(text) {
  return /^(#{1,6} |[-*+] |\d+[.)] |> |```|~~~|\|.*\|)|\*\*\S|`[^`\n]+`|\]\(/m.test(text.slice(0, MAX_TEXT));
}

/** says reports whether the words of a link are where it leads, letter by letter as the browser has it. */
export const says = (words, href) => words === href || `${words}/` === href;

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const tableLine = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

function blocks(lines, depth) {
  if (depth > MAX_DEPTH) return [{type: 'paragraph', children: [lines.join('\n')]}];
  const all = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    const fenced = fence.exec(line);
    const titled = heading.exec(line);
    if (line.trim() === '') {
      at++;
    } else if (fenced) {
      const code = [];
      for (at++; at < lines.length && !closes(lines[at], fenced[1]); at++) code.push(lines[at]);
      at++;
      all.push({type: 'code', language: fenced[2].trim().split(/\s/)[0], text: code.join('\n')});
    } else if (titled) {
      all.push({type: 'heading', level: titled[1].length, children: inline((titled[2] ?? '').replace(/[ \t]+#+[ \t]*$/, ''))});
      at++;
    } else if (rule.test(line)) {
      all.push({type: 'rule'});
      at++;
    } else if (/^ {0,3}>/.test(line)) {
      const quoted = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at]); at++) quoted.push(lines[at].replace(/^ {0,3}> ?/, ''));
      all.push({type: 'quote', blocks: blocks(quoted, depth + 1)});
    } else if (bullet.test(line)) {
      at = list(lines, at, depth, all);
    } else if (line.includes('|') && at + 1 < lines.length && tableLine.test(lines[at + 1]) && lines[at + 1].includes('-')) {
      at = table(lines, at, all);
    } else if (/^ {4}/.test(line)) {
      const code = [];
      for (; at < lines.length && (/^ {4}/.test(lines[at]) || lines[at].trim() === ''); at++) code.push(lines[at].slice(4));
      all.push({type: 'code', language: '', text: code.join('\n').trimEnd()});
    } else {
      const words = [line];
      for (at++; at < lines.length && !begins(lines[at]); at++) words.push(lines[at]);
      all.push({type: 'paragraph', children: inline(words.map((word) => word.trimStart()).join('\n'))});
    }
  }
  return all;
}

const closes = (line, mark) => {
  const trimmed = line.trim();
  return trimmed.length >= mark.length && trimmed === mark[0].repeat(trimmed.length);
};

const begins = (line) => line.trim() === '' || fence.test(line) || heading.test(line) || rule.test(line) || /^ {0,3}>/.test(line) || bullet.test(line);

function list(lines, at, depth, all) {
  const [, , mark] = bullet.exec(lines[at]);
  const ordered = mark.length > 1;
  const kind = mark.at(-1);
  const items = [];
  for (let found; at < lines.length && (found = bullet.exec(lines[at])) && found[2].at(-1) === kind && !rule.test(lines[at]);) {
    const inner = found[0].trim() === found[0].trimEnd() && found[0].length > 0 ? Math.min(found[0].length, found[1].length + found[2].length + 4) : 0;
    const own = [lines[at].slice(found[0].length)];
    for (at++; at < lines.length; at++) {
      const line = lines[at];
      const indent = line.length - line.trimStart().length;
      if (line.trim() === '') {
        const next = lines[at + 1] ?? '';
        if (next.trim() !== '' && next.length - next.trimStart().length < Math.min(inner, 2)) break;
        own.push('');
      } else if (indent >= Math.min(inner, 2)) {
        own.push(line.slice(Math.min(indent, inner)));
      } else if (begins(line)) {
        break;
      } else {
        own.push(line);
      }
    }
    while (at < lines.length && lines[at].trim() === '' && bullet.test(lines[at + 1] ?? '')) at++;
    items.push(blocks(own, depth + 1));
  }
  all.push({type: 'list', ordered, start: ordered ? Number.parseInt(mark, 10) : 1, items});
  return at;
}

function table(lines, at, all) {
  const head = cells(lines[at]);
  const align = cells(lines[at + 1]).map((cell) => (cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : 'left'));
  const rows = [];
  for (at += 2; at < lines.length && lines[at].includes('|') && lines[at].trim() !== ''; at++) {
    const row = cells(lines[at]);
    rows.push(head.map((_, n) => inline(row[n] ?? '')));
  }
  all.push({type: 'table', align: head.map((_, n) => align[n] ?? 'left'), head: head.map((cell) => inline(cell)), rows});
  return at;
}

// cells are those of a line of a table; \| is no border.
function cells(line) {
  const parts = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '').split(/(?<!\\)\|/);
  return parts.map((part) => part.trim().replaceAll('\\|', '|'));
}

const escaped = /[!-/:-@[-`{-~]/;

function inline(text, depth = 0) {
  const all = [];
  let plain = '';
  const add = (node) => {
    if (plain !== '') all.push(plain);
    plain = '';
    all.push(node);
  };
  for (let at = 0; at < text.length;) {
    const found = depth > MAX_DEPTH ? null : special(text, at, depth);
    if (found === null) {
      plain += text[at++];
    } else {
      if (typeof found.node === 'string') plain += found.node;
      else add(found.node);
      at = found.end;
    }
  }
  if (plain !== '') all.push(plain);
  return all;
}

// special is what begins at a place of a text, and where it ends; null where there is only a letter.
function special(text, at, depth) {
  switch (text[at]) {
    case '\\':
      if (text[at + 1] === '\n') return {node: {type: 'break'}, end: at + 2};
      return at + 1 < text.length && escaped.test(text[at + 1]) ? {node: text[at + 1], end: at + 2} : null;
    case '`':
      return code(text, at);
    case '*':
    case '_':
    case '~':
      return emphasis(text, at, depth);
    case '!':
      return text[at + 1] === '[' ? bracket(text, at + 1, depth, true) : null;
    case '[':
      return bracket(text, at, depth, false);
    case '<': {
      const found = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/.exec(text.slice(at, at + MAX_AHEAD));
      return found && {node: {type: 'link', address: found[1], children: [found[1]]}, end: at + found[0].length};
    }
    case 'h': {
      if (/\w/.test(text[at - 1] ?? '')) return null;
      const found = /^https?:\/\/[^\s<>"'`]{1,2000}/.exec(text.slice(at, at + MAX_AHEAD));
      if (!found) return null;
      const address = found[0].replace(/[.,;:!?)\]*_]+$/, '');
      return {node: {type: 'link', address, children: [address]}, end: at + address.length};
    }
    case ' ':
      return /^ {2,}\n/.test(text.slice(at, at + 20)) ? {node: {type: 'break'}, end: text.indexOf('\n', at) + 1} : null;
  }
  return null;
}

function code(text, at) {
  const mark = /^`+/.exec(text.slice(at, at + MAX_AHEAD))[0];
  const within = text.slice(at + mark.length, at + MAX_AHEAD);
  for (let end = within.indexOf(mark), tries = 0; end >= 0 && tries < 50; end = within.indexOf(mark, end + mark.length), tries++) {
    if (within[end + mark.length] === '`' || within[end - 1] === '`') continue;
    return {node: {type: 'code', text: within.slice(0, end).replace(/^ (.*\S.*) $/s, '$1')}, end: at + 2 * mark.length + end};
  }
  return {node: mark, end: at + mark.length};
}

function emphasis(text, at, depth) {
  const letter = text[at];
  let size = 1;
  while (text[at + size] === letter && size < 200) size++;
  const whole = {node: text.slice(at, at + size), end: at + size};
  const inWord = letter === '_' && /\w/.test(text[at - 1] ?? '');
  if (size > 3 || letter === '~' && size !== 2 || inWord || /\s|^$/.test(text[at + size] ?? '')) return whole;
  const within = text.slice(at + size, at + MAX_AHEAD);
  const mark = letter.repeat(size);
  for (let end = within.indexOf(mark), tries = 0; end >= 0 && tries < 50; end = within.indexOf(mark, end + 1), tries++) {
    const after = within[end + size] ?? '';
    if (end === 0 || /\s/.test(within[end - 1]) || within[end - 1] === '\\' || after === letter && within[end + size + 1] !== letter && size === 1 || letter === '_' && /\w/.test(after)) continue;
    if (size < 3 && within[end - 1] === letter) continue;
    const children = inline(within.slice(0, end), depth + 1);
    const node = size === 2 ? {type: letter === '~' ? 'strike' : 'strong', children} : {type: 'em', children};
    return {node: size === 3 ? {type: 'strong', children: [node]} : node, end: at + 2 * size + end};
  }
  return whole;
}

// unlinked are the words of a link, in which none is another one: that would lead elsewhere.
const unlinked = (children) => children.flatMap((one) => {
  if (one.type === 'link') return unlinked(one.children);
  return one.children ? [{...one, children: unlinked(one.children)}] : [one];
});

function bracket(text, at, depth, image) {
  const found = /^\[((?:[^[\]\\]|\\.|\[[^[\]]{0,200}\](?!\())*)\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()]|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(text.slice(at, at + MAX_AHEAD));
  if (!found) return null;
  const address = found[2] ?? found[3];
  const node = image ? {type: 'image', address, text: found[1]} : {type: 'link', address, children: unlinked(inline(found[1], depth + 1))};
  return {node, end: at + found[0].length};
}
