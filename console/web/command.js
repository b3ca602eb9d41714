// What somebody types to name a server: a URL, or a command as in a shell.

/**
 * server reads it: {url}, {command, args, env}, or {problem: 'empty' | 'quote' | 'variable'}. Words are split as a POSIX
 * shell does with quotes and backslashes; nothing is expanded, as there is no shell.
 */
export function server(text) {
  text = text.trim();
  if (text === '') return {problem: 'empty'};
  if (/^https?:\/\/\S+$/i.test(text)) return {url: text};
  const words = split(text);
  if (words === null) return {problem: 'quote'};
  const env = {};
  while (words.length > 0 && /^[A-Za-z_]\w*=/.test(words[0])) {
    const [name] = words[0].split('=', 1);
    env[name] = words.shift().slice(name.length + 1);
  }
  if (words.length === 0) return {problem: 'variable'};
  const [command, ...args] = words;
  return {command, ...(args.length > 0 && {args}), ...(Object.keys(env).length > 0 && {env})};
}

/** split gives the words of a command; null where a quote is not closed. */
export function split(text) {
  const words = [];
  let word = null;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (/\s/.test(letter)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (letter === "'" || letter === '"') {
      word ??= '';
      for (at++; at < text.length && text[at] !== letter; at++) {
        if (letter === '"' && text[at] === '\\' && /["\\$`]/.test(text[at + 1] ?? '')) at++;
        word += text[at];
      }
      if (at === text.length) return null;
    } else if (letter === '\\' && at + 1 < text.length && !/^[A-Za-z]:/.test(word ?? '')) { // but not in C:\
      word = (word ?? '') + text[++at];
    } else {
      word = (word ?? '') + letter;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

/** pairs reads lines of "name: value"; null where one is none. */
export function pairs(text) {
  const all = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf(':');
    if (at <= 0) return null;
    all[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return all;
}

/** Characters of a URI template. */
const MAX_TEMPLATE = 8192;

/** variables are the names in a URI template, in order, each once. */
export function variables(template) {
  const names = [...template.slice(0, MAX_TEMPLATE).matchAll(/\{[+#./;?&]?([^{}]+)\}/g)].flatMap(([, list]) => list.split(',')).map((name) => name.replace(/(\*|:\d+)$/, '').trim());
  return [...new Set(names)].filter(Boolean);
}

/** expand puts values into a URI template (RFC 6570), texts only. */
export function expand(template, values) {
  const kinds = {'': ['', ',', false], '+': ['', ',', false], '#': ['#', ',', false], '.': ['.', '.', false], '/': ['/', '/', false], ';': [';', ';', true], '?': ['?', '&', true], '&': ['&', '&', true]};
  return template.slice(0, MAX_TEMPLATE).replace(/\{([+#./;?&]?)([^{}]+)\}/g, (_, sign, list) => {
    const [first, between, named] = kinds[sign];
    const given = list.split(',').flatMap((spec) => {
      const [, name, cut] = /^(.*?)(?:\*|:(\d+))?$/.exec(spec.trim());
      let value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined || value === '') return [];
      if (cut) value = [...value].slice(0, Number(cut)).join('');
      const encoded = sign === '+' || sign === '#'
        ? encodeURI(value).replace(/%25([0-9a-f]{2})/gi, '%$1').replaceAll('%5B', '[').replaceAll('%5D', ']')
        : encodeURIComponent(value).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
      return [named ? `${name}=${encoded}` : encoded];
    });
    return given.length === 0 ? '' : first + given.join(between);
  });
}
