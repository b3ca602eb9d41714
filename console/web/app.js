// The frame around the views: which one is shown, the keys, the theme and the language.
import {h, clear} from './dom.js';
import {choose, language, names, t} from './words.js';
import {views} from './views.js';

const keptTheme = 'junction.theme';
const themes = ['auto', 'light', 'dark'];
const dark = matchMedia('(prefers-color-scheme: dark)');

let shown = null; // {name, closed, view}
let going = false; // "g" was pressed

const main = h('main', {id: 'main', tabindex: '-1'});
const live = h('div', {class: 'quiet', role: 'status', 'aria-live': 'polite'});
const head = h('header', {class: 'head'});
const keys = h('dialog', {'aria-labelledby': 'keys-title'});

/** say tells a screen reader what changed. */
function say(text) {
  live.textContent = text;
}

function go(path) {
  location.hash = '#/' + path;
}

function theme() {
  const chosen = localStorage.getItem(keptTheme);
  return themes.includes(chosen) ? chosen : 'auto';
}

function showTheme() {
  const chosen = theme();
  document.documentElement.dataset.theme = chosen === 'auto' ? (dark.matches ? 'dark' : 'light') : chosen;
}

function showHead() {
  const themeChoice = h('select', {
    'aria-label': t('app.theme'),
    onchange: () => {
      localStorage.setItem(keptTheme, themeChoice.value);
      showTheme();
    },
  }, themes.map((name) => h('option', {value: name, selected: name === theme()}, t(`app.theme.${name}`))));
  const languageChoice = h('select', {
    'aria-label': t('app.language'),
    onchange: () => {
      choose(languageChoice.value);
      showAll();
    },
  }, names.map(([name, label]) => h('option', {value: name, lang: name, selected: name === language()}, label)));
  clear(head,
    h('a', {class: 'skip', href: '#main', onclick: (event) => { event.preventDefault(); main.focus(); }}, t('app.skip')),
    h('div', {class: 'brand'}, h('img', {src: 'icon.svg', alt: ''}), 'Junction'),
    h('nav', {class: 'views', 'aria-label': t('app.views')}, views.map(({name}) =>
      h('a', {href: '#/' + name, 'aria-current': shown?.name === name ? 'page' : null}, t(`${name}.title`)))),
    h('div', {class: 'choices'}, languageChoice, themeChoice,
      h('button', {class: 'button-plain', onclick: showKeys, 'aria-label': t('app.keys'), title: t('app.keys')}, '?')));
}

function showKeys() {
  const rows = [
    ...views.map(({name, key}) => [['g', key], t(`${name}.title`)]),
    [['/'], t('app.key.filter')],
    [['Esc'], t('app.key.back')],
    ...Object.entries(shown?.view.keys ?? {}).filter(([, [label]]) => label).map(([key, [label]]) => [[key], t(label)]),
    [['?'], t('app.keys')],
  ];
  clear(keys,
    h('div', {class: 'stack'},
      h('h2', {id: 'keys-title'}, t('app.keys')),
      h('dl', {class: 'pairs'}, rows.map(([pressed, label]) => [h('dt', null, pressed.map((key, n) => [n > 0 ? ' ' : null, h('kbd', null, key)])), h('dd', null, label)])),
      h('div', {class: 'toolbar'}, h('button', {class: 'button-primary', onclick: () => keys.close()}, t('app.close')))));
  keys.showModal();
}

function isTyping(target) {
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || keys.open) return;
  if (isTyping(event.target)) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  if (going) {
    going = false;
    const view = views.find(({key}) => key === event.key);
    if (view) {
      event.preventDefault();
      go(view.name);
    }
    return;
  }
  switch (event.key) {
    case 'g':
      going = true;
      setTimeout(() => { going = false; }, 1500);
      return;
    case '?':
      event.preventDefault();
      showKeys();
      return;
    case '/': {
      const filter = main.querySelector('[data-filter]');
      if (filter) {
        event.preventDefault();
        filter.focus();
        filter.select?.();
      }
      return;
    }
  }
  const key = shown?.view.keys?.[event.key];
  const presses = event.key === 'Enter' && event.target.closest('a, button, summary'); // what has the focus
  if (key && !presses) {
    event.preventDefault();
    key[1](event);
  }
}

// show opens what the address says: #/VIEW/REST. A view stays while only REST changes.
function show() {
  const [, name, rest] = /^#\/([a-z]+)\/?(.*)$/.exec(location.hash) ?? [null, views[0].name, ''];
  const view = views.find((one) => one.name === name) ?? views[0];
  if (shown?.name !== view.name) {
    shown?.view.close();
    shown = {name: view.name, view: view.module.view({go, say, language: language()})};
    clear(main, shown.view.node);
    showHead();
    document.title = `${t(`${view.name}.title`)} – Junction`;
  }
  shown.view.open?.(rest ?? '');
}

function showAll() {
  say(''); // what was said is in another language
  shown?.view.close();
  shown = null;
  show();
}

dark.addEventListener('change', showTheme);
addEventListener('hashchange', show);
addEventListener('keydown', pressed);
showTheme();
document.body.append(head, main, live, keys);
show();
