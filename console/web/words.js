// The texts of the page, in the language of whoever looks at it.
import en from './words/en.js';
import zh from './words/zh.js';

// One language more is a file of words and a row here.
const languages = {
  en: {name: 'English', locale: 'en', words: en},
  zh: {name: '中文', locale: 'zh-Hans', words: zh},
};
const kept = 'junction.language';

let current = start();

function start() {
  const chosen = localStorage.getItem(kept);
  if (chosen && Object.hasOwn(languages, chosen)) return chosen;
  const [first] = navigator.language.toLowerCase().split('-');
  return Object.hasOwn(languages, first) ? first : 'en';
}

/** names are what languages call themselves, by their keys. */
export const names = Object.entries(languages).map(([key, {name}]) => [key, name]);

/** language is the key of the current one, such as en. */
export function language() {
  return current;
}

/** choose changes the language, and keeps it. The page has to be shown again. */
export function choose(name) {
  if (!Object.hasOwn(languages, name)) throw new RangeError(`no language ${name}`);
  current = name;
  localStorage.setItem(kept, name);
  document.documentElement.lang = locale();
}

/** locale is the current language as Intl and the lang attribute have it. */
export function locale() {
  return languages[current].locale;
}

/** t is a text, in which {name} is replaced by values.name. */
export function t(key, values) {
  const text = languages[current].words[key] ?? en[key];
  if (text === undefined) throw new RangeError(`no text ${key}`);
  return text.replace(/\{(\w+)\}/g, (whole, name) => (values && name in values ? String(values[name]) : whole));
}

/** plural is the text for a number of things: that of key.one or key.other. */
export function plural(key, n, values) {
  const form = formatter(Intl.PluralRules).select(n) === 'one' ? 'one' : 'other';
  return t(`${key}.${form}`, {n: number(n), ...values});
}

// Formatters cost much to make, and a list asks for hundreds of texts at a time.
const formatters = new Map();

function formatter(kind, options) {
  const key = `${kind.name} ${locale()} ${JSON.stringify(options)}`;
  let made = formatters.get(key);
  if (!made) formatters.set(key, made = new kind(locale(), options));
  return made;
}

/** number is a number as it is written in the current language. */
export function number(n) {
  return formatter(Intl.NumberFormat).format(n);
}

/** clock is the time of day of an RFC 3339 text, to the millisecond. */
export function clock(time) {
  return formatter(Intl.DateTimeFormat, {hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23'}).format(new Date(time));
}

/** moment is the day and the time of an RFC 3339 text. */
export function moment(time) {
  return new Date(time).toLocaleString(locale());
}

/** bytes is a size. */
export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB']; // Intl writes bytes as a word, in English without its plural
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${formatter(Intl.NumberFormat, {maximumFractionDigits: n < 10 && unit > 0 ? 1 : 0}).format(n)} ${units[unit]}`;
}

/** duration is a time in nanoseconds, with as many digits as say something. */
export function duration(nanoseconds) {
  let [n, unit] = [nanoseconds / 1e6, 'millisecond'];
  if (n < 1) [n, unit] = [n * 1000, 'microsecond'];
  else if (n >= 1000) [n, unit] = [n / 1000, 'second'];
  return formatter(Intl.NumberFormat, {style: 'unit', unit, unitDisplay: 'short', maximumSignificantDigits: 3}).format(n);
}

document.documentElement.lang = locale();
