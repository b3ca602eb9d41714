// What a server asks while it works: a form, a page to visit, a model's answer, or folders. Whoever is at the page answers,
// and sees who asks; to decline is as near as to accept.
import {clear, h, link} from './dom.js';
import {form} from './form.js';
import {spoken} from './results.js';
import {tree} from './tree.js';
import {reason} from './parts.js';
import {t} from './words.js';

/** questions shows those that are open, each until it is answered, here or by another page. */
export function questions(session) {
  const node = h('aside', {class: 'stack ins-questions', 'aria-label': t('inspector.questions'), 'aria-live': 'polite'});
  const shown = new Map();
  function update() {
    for (const [n, one] of shown) {
      if (session.questions.has(n)) continue;
      one.remove();
      shown.delete(n);
    }
    for (const [n, question] of session.questions) {
      if (shown.has(n)) continue;
      const one = card(session, question);
      shown.set(n, one);
      node.append(one);
      node.hidden = false;
      one.scrollIntoView({block: 'nearest'});
    }
    node.hidden = shown.size === 0;
  }
  update();
  return {node, update};
}

function card(session, question) {
  const {kind, params} = question;
  const id = `question-${session.id}-${question.question}`;
  const fault = h('p', {class: 'problem', role: 'alert'});
  const url = kind === 'elicitation' && (params?.mode === 'url' || params?.url !== undefined);
  const what = url ? visit(params) : kind === 'elicitation' ? fields(params) : kind === 'sampling' ? sample(params) : roots();
  const send = async (body) => {
    fault.textContent = '';
    buttons.forEach((button) => { button.disabled = true; });
    try {
      await session.answer(question.question, body);
    } catch (error) {
      fault.textContent = reason(error);
      buttons.forEach((button) => { button.disabled = false; });
    }
  };
  const accept = () => {
    const given = what.answer();
    if (given) send({action: 'accept', ...given});
  };
  const buttons = [
    h('button', {type: 'button', class: 'button-primary', onclick: accept}, t(url ? 'inspector.question.visited' : 'inspector.question.accept')),
    h('button', {type: 'button', onclick: () => send({action: 'decline'})}, t('inspector.question.decline')),
    kind === 'elicitation' ? h('button', {type: 'button', class: 'button-plain', onclick: () => send({action: 'cancel'})}, t('inspector.question.cancel')) : null,
  ].filter(Boolean);
  const body = h('div', {class: 'stack ins-question-body', id: `${id}-body`, tabindex: '0', role: 'group', 'aria-labelledby': id}, what.node);
  const last = h('div', {class: 'stack ins-question-end'}, fault, h('div', {class: 'toolbar'}, buttons));
  const fold = h('button', {type: 'button', class: 'button-plain ins-fold', 'aria-expanded': 'true', 'aria-controls': body.id, 'aria-label': t('inspector.question.fold'), title: t('inspector.question.fold'), onclick: () => {
    body.hidden = last.hidden = !body.hidden;
    fold.setAttribute('aria-expanded', String(!body.hidden));
    fold.textContent = body.hidden ? '▸' : '▾';
  }}, '▾');
  const server = session.view.info?.title ?? session.view.info?.name ?? session.view.name;
  const {method, params: sent} = session.requests.get(question.request) ?? {};
  const request = [method, sent?.name ?? sent?.uri].filter((word) => typeof word === 'string').join(' ');
  return h('section', {class: 'panel ins-question', 'aria-labelledby': id, onkeydown: (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
      accept();
    }
  }},
  h('div', {class: 'ins-question-head'}, h('h2', {id}, t(method ? 'inspector.question.for' : 'inspector.question.from', {server, request})), h('span', {class: 'badge badge-warn'}, t(`inspector.question.${url ? 'url' : kind}`)), fold),
  body, last);
}

const words = (text) => (text ? h('p', {class: 'ins-text'}, String(text)) : null);

function fields(params) {
  const asked = form(params?.requestedSchema, {defaults: true});
  return {
    node: h('div', {class: 'stack'}, words(params?.message), h('p', {class: 'dim'}, t('inspector.question.secrets')), asked.node),
    answer() {
      if (asked.problems().length === 0) return {content: asked.value() ?? {}};
      asked.focus();
      return null;
    },
  };
}

function visit(params) {
  const address = String(params?.url ?? '');
  let host = '';
  try {
    host = new URL(address).host;
  } catch { /* then nobody can follow it */ }
  return {
    node: h('div', {class: 'stack'}, words(params?.message),
      h('p', null, t('inspector.question.host'), ' ', h('strong', {class: 'mono'}, host || '–')),
      h('p', {class: 'mono ins-text'}, link(address, address))),
    answer: () => ({}),
  };
}

function sample(params) {
  const text = h('textarea', {rows: 4, 'aria-label': t('inspector.sampling.answer')});
  const model = h('input', {value: 'console', size: 16, 'aria-label': t('inspector.sampling.model')});
  const others = Object.fromEntries(Object.entries(params ?? {}).filter(([name]) => !['messages', 'systemPrompt'].includes(name)));
  return {
    node: h('div', {class: 'stack'},
      params?.systemPrompt ? h('section', {class: 'ins-said', 'aria-label': t('inspector.role.system')}, h('h4', null, t('inspector.role.system')), words(params.systemPrompt)) : null,
      (Array.isArray(params?.messages) ? params.messages : []).map((message) => spoken(message)),
      Object.keys(others).length === 0 ? null : h('details', null, h('summary', null, t('inspector.sampling.settings')), tree(others, t('inspector.sampling.settings'))),
      h('label', {class: 'field'}, h('span', {class: 'label'}, t('inspector.sampling.answer')), text),
      h('label', {class: 'field'}, h('span', {class: 'label'}, t('inspector.sampling.model')), model)),
    answer: () => ({result: {role: 'assistant', content: {type: 'text', text: text.value}, model: model.value || 'console', stopReason: 'endTurn'}}),
  };
}

function roots() {
  const list = h('textarea', {rows: 3, class: 'mono', placeholder: 'file:///home/me/project', 'aria-label': t('inspector.roots.list')});
  const fault = h('p', {class: 'problem', role: 'alert'});
  return {
    node: h('div', {class: 'stack'}, h('p', null, t('inspector.roots.ask')), h('label', {class: 'field'}, h('span', {class: 'label'}, t('inspector.roots.list')), list), fault),
    answer() {
      const uris = list.value.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => (line.startsWith('/') ? 'file://' + line.split('/').map(encodeURIComponent).join('/') : line));
      const wrong = uris.find((uri) => !uri.startsWith('file://'));
      clear(fault, wrong === undefined ? null : t('inspector.roots.wrong', {uri: wrong}));
      return wrong === undefined ? {roots: uris.map((uri) => ({uri}))} : null;
    },
  };
}
