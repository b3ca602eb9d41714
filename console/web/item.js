// One tool, resource, template or prompt: what it is, a form for its arguments, and the last run.
import {clear, h} from './dom.js';
import {expand, variables} from './command.js';
import {form} from './form.js';
import {findings, run} from './run.js';
import {appOf, app} from './apps.js';
import {tokens} from './results.js';
import {tree} from './tree.js';
import {reason} from './parts.js';
import {clock, number, t} from './words.js';

/** annotations are what a tool says of its effects, as badges: red is only what it says itself to destroy. Most say nothing. */
export function annotations(tool) {
  const {readOnlyHint: reads, destructiveHint: destroys, idempotentHint: again, openWorldHint: open} = tool.annotations ?? {};
  const badge = (kind, word) => h('span', {class: `badge badge-${kind}`}, t(`inspector.tool.${word}`));
  return [
    reads === true ? badge('good', 'reads') : destroys === true ? badge('bad', 'destroys') : badge('plain', destroys === false ? 'changes' : 'unsaid'),
    again === true && reads !== true ? badge('plain', 'idempotent') : null,
    open === false ? badge('plain', 'closed') : open === true ? badge('plain', 'open') : null,
  ];
}

/** nameOf is what people call an entry. */
export function nameOf(entry) {
  return String(entry.title ?? entry.annotations?.title ?? entry.name ?? entry.uri ?? entry.uriTemplate);
}

/** item shows an entry of a list. */
export function item(session, kind, key, {go, say}) {
  const at = `${kind}/${key}`;
  const node = h('article', {class: 'ins-item', 'aria-label': key, onkeydown: (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    }
  }});
  const outcome = h('div', {class: 'ins-outcome stack'});
  const fault = h('p', {class: 'problem', role: 'alert'});
  let asked = null; // the form
  let shown = null; // the run
  let drawn = null; // the entry as it is shown
  const timeout = h('input', {type: 'number', min: 1, max: 1800, class: 'ins-seconds', placeholder: '60', 'aria-label': t('inspector.timeout')});
  const task = h('input', {type: 'checkbox'});
  const changed = h('span', {class: 'dim', role: 'status'});
  const preview = h('code', {class: 'ins-key'}); // of a template: the URI that is read

  const read = (uri) => {
    const known = session.entry('resources', uri);
    if (known) go('resources', uri);
    else perform('resources/read', {uri});
  };
  const context = {again: (request) => refill(request), read};

  function refill(request) {
    const params = request.params ?? {};
    if (kind === 'templates') asked?.set(session.drafts.get(at) ?? {});
    else if (asked) asked.set(params.arguments ?? {});
    drawPreview();
    asked?.focus();
  }

  async function perform(method, params, options) {
    fault.textContent = '';
    try {
      const n = await session.begin(method, params, options);
      session.latest.set(at, n);
      show(n);
      say(t('inspector.said.running'));
      const done = await session.outcome(n);
      say(t(done.error ? 'inspector.said.failed' : 'inspector.said.done'));
    } catch (error) {
      fault.textContent = reason(error);
    }
  }

  function show(n) {
    shown = run(session, n, context);
    clear(outcome, shown.node, app(session, kind, drawn, n));
  }

  function start() {
    if (asked && asked.problems().length > 0 && !node.dataset.forced) {
      asked.focus();
      fault.textContent = t('inspector.anyway', {do: t(`inspector.do.${kind}`)});
      node.dataset.forced = 'yes'; // a second time it is sent: servers have to refuse what is wrong, and that is what one may want to see
      return;
    }
    delete node.dataset.forced;
    const value = asked?.value();
    const options = {...(timeout.value && {timeout: Number(timeout.value)}), ...(task.checked && {task: true})};
    switch (kind) {
      case 'tools': return perform('tools/call', {name: key, arguments: value ?? {}}, options);
      case 'prompts': return perform('prompts/get', {name: key, arguments: value ?? {}}, options);
      case 'resources': return perform('resources/read', {uri: key}, options);
      case 'templates': return perform('resources/read', {uri: expand(key, texts(value))}, options);
    }
  }

  function drawPreview() {
    if (kind === 'templates') preview.textContent = expand(key, texts(asked?.value()));
  }

  function fields(entry) {
    const complete = session.view.capabilities?.completions === undefined ? undefined : async ([name], value) => {
      const ref = kind === 'prompts' ? {type: 'ref/prompt', name: key} : {type: 'ref/resource', uri: key};
      const others = texts(asked?.value());
      delete others[name];
      const {result} = await session.ask('completion/complete', {ref, argument: {name: String(name), value}, ...(Object.keys(others).length > 0 && {context: {arguments: others}})});
      return result?.completion?.values ?? [];
    };
    const options = {value: session.drafts.get(at), onchange: (value) => { session.drafts.set(at, value); delete node.dataset.forced; drawPreview(); }};
    const texted = (all) => ({type: 'object', properties: Object.fromEntries(all.map((one) => [one.name, {type: 'string', ...(one.title && {title: one.title}), ...(one.description && {description: one.description})}])),
      required: all.filter((one) => one.required).map((one) => one.name)});
    switch (kind) {
      case 'tools': return form(entry.inputSchema, options);
      case 'prompts': return (entry.arguments ?? []).length === 0 ? null : form(texted(entry.arguments), {...options, complete});
      case 'templates': return form(texted(variables(key).map((name) => ({name}))), {...options, complete});
    }
    return null;
  }

  function draw() {
    const entry = session.entry(kind, key);
    if (!entry) {
      const {state} = session.lists[kind] ?? {};
      clear(node, h('p', {class: 'dim'}, t(state === 'ready' ? 'inspector.item.gone' : 'inspector.loading', {name: key})));
      return;
    }
    if (drawn && JSON.stringify(drawn) === JSON.stringify(entry)) return;
    drawn = entry;
    asked = fields(entry);
    const id = `item-${session.id}`;
    const support = entry.execution?.taskSupport;
    const tasks = kind === 'tools' && (support === 'optional' || support === 'required' || Boolean(session.view.capabilities?.extensions?.['io.modelcontextprotocol/tasks']));
    task.checked = support === 'required';
    const size = tokens(JSON.stringify(entry));
    clear(node,
      h('div', {class: 'ins-ask stack'},
        h('header', {class: 'stack'},
          h('div', {class: 'toolbar'},
            h('button', {type: 'button', class: 'button-plain ins-back', onclick: () => go(kind)}, '← ', t('inspector.back')),
            h('h2', {id, tabindex: '-1'}, nameOf(entry)), nameOf(entry) === key ? null : h('code', {class: 'ins-key'}, key)),
          h('div', {class: 'toolbar'}, kind === 'tools' ? annotations(entry) : null, entry.mimeType ? h('span', {class: 'badge'}, String(entry.mimeType)) : null, h('span', {class: 'dim ins-small'}, t('inspector.tokens', {n: number(size)}))),
          entry.description ? h('p', {class: 'ins-text'}, String(entry.description)) : h('p', {class: 'dim'}, t('inspector.item.undescribed'))),
        asked?.node,
        kind === 'templates' ? h('p', {class: 'ins-preview'}, h('span', {class: 'dim'}, t('inspector.template.uri')), ' ', preview) : null,
        h('div', {class: 'toolbar ins-actions'},
          h('button', {type: 'button', class: 'button-primary', onclick: start, title: 'Ctrl+Enter'}, t(`inspector.do.${kind}`)),
          kind === 'resources' ? subscription() : null,
          kind === 'resources' ? changed : null,
          h('label', {class: 'toolbar dim'}, t('inspector.timeout'), timeout),
          tasks ? h('label', {class: 'toolbar dim'}, task, t('inspector.astask')) : null),
        fault,
        findingsOf(entry),
        h('details', {class: 'ins-definition'}, h('summary', null, t('inspector.definition')), tree(entry, t('inspector.definition')))),
      outcome);
    drawChanged();
    drawPreview();
    if (session.latest.has(at)) show(session.latest.get(at));
    else clear(outcome, appOf(entry) ? null : h('div', {class: 'empty ins-nothing'}, h('p', null, t('inspector.run.none')), h('p', null, h('kbd', null, 'Ctrl'), ' ', h('kbd', null, 'Enter'))));
  }

  function findingsOf() {
    const all = session.events.findings.filter((one) => one.subject === key && one.where !== 'structuredContent' && one.where !== 'content');
    const last = new Map(all.map((one) => [one.where + one.problem, one]));
    return findings([...last.values()].map((one) => ({...one, subject: undefined})));
  }

  // subscription is a button that begins or ends to listen for changes of a resource.
  function subscription() {
    const button = h('button', {type: 'button', onclick: async () => {
      const all = new Set(session.filter().resourceSubscriptions ?? []);
      if (!all.delete(key)) all.add(key);
      try {
        await session.subscribe({...session.filter(), resourceSubscriptions: [...all]});
        session.view.subscriptions = {...session.view.subscriptions, filter: {...session.filter(), resourceSubscriptions: [...all]}};
        label();
      } catch (error) {
        fault.textContent = reason(error);
      }
    }});
    const label = () => {
      const on = (session.filter().resourceSubscriptions ?? []).includes(key);
      button.setAttribute('aria-pressed', String(on));
      button.textContent = t(on ? 'inspector.unsubscribe' : 'inspector.subscribe');
    };
    label();
    subscription.label = label;
    return button;
  }

  function drawChanged() {
    const time = session.changed(key);
    const words = time ? t('inspector.changed', {time: clock(time)}) : '';
    if (changed.textContent !== words) changed.textContent = words;
  }

  draw();
  return {
    node,
    start,
    focus: () => node.querySelector('h2')?.focus({preventScroll: innerWidth > 900}), // where the list is next to it, nothing moves
    fill(value) {
      session.drafts.set(at, value);
      asked?.set(value);
      drawPreview();
      asked?.focus();
    },
    update(topic, value) {
      if (topic === 'list' && value === kind) draw();
      if (topic === 'subscription') subscription.label?.();
      if (topic === 'notification') drawChanged();
      shown?.update(topic, value);
    },
  };
}

// texts are the members of a value that are texts.
function texts(value) {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, one]) => one !== undefined && one !== null).map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)]));
}
