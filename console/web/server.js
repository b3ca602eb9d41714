// One server of a gateway: its state, what it offers and what of that is approved, and what it writes.
import {clear, h} from './dom.js';
import {get, post} from './api.js';
import {reason, trouble} from './parts.js';
import {number, plural, t} from './words.js';
import {diff} from './diff.js';
import {lately, offers} from './servers.js';

const kinds = {connected: 'good', failed: 'bad', 'not responding': 'bad', connecting: 'accent', 'waiting to start': 'warn'};
const logPause = 2000; // milliseconds between two looks at what it writes

/** badge is the state of a server. */
export function badge(one) {
  return h('span', {class: `badge badge-${kinds[one.state] ?? 'plain'}`}, t(`state.${one.state.replaceAll(' ', '-')}`));
}

/** server is the part of the page about one server. */
export function server(pid, name, {say}) {
  const at = `instances/${pid}/servers/${encodeURIComponent(name)}`;
  const state = h('span');
  const facts = h('dl', {class: 'pairs'});
  const whole = h('pre'); // the error, of which the facts have the reason
  const unabridged = h('details', null, h('summary', null, t('server.error.whole')), whole);
  const said = h('p', {class: 'notice', role: 'status', hidden: true});
  const approvals = h('section', {class: 'panel stack', hidden: true, 'aria-labelledby': 'approvals-title'});
  const offered = h('section', {class: 'panel stack', 'aria-labelledby': 'offered-title', 'aria-busy': 'true'});
  const log = h('section', {class: 'panel stack', 'aria-labelledby': 'log-title'});
  const restart = h('button', {onclick: () => order(`${at}/restart`, 'server.restarted')}, t('server.restart'));
  let seen = ''; // the server as it was when its definitions were read
  let drawn = ''; // its facts
  let timer = 0;
  let closed = false;
  let over = false; // its process has ended

  async function order(path, key) {
    restart.disabled = true;
    try {
      await post(path);
      tell(t(key, {name}), 'good');
    } catch (error) {
      tell(reason(error), 'bad');
    }
    restart.disabled = over;
  }

  // end says whether the process has ended: there is nobody to ask then.
  function end(isOver) {
    if (isOver === over) return;
    over = state.hidden = restart.disabled = isOver;
    if (!over) readLog();
  }

  function tell(text, how) {
    said.hidden = false;
    said.className = `notice notice-${how}`;
    said.textContent = text;
    say(text);
  }

  function show(one) {
    const it = one.servers?.find((other) => other.name === name);
    if (!it) {
      clear(state, h('span', {class: 'badge badge-bad'}, t('server.gone')));
      return;
    }
    const draw = JSON.stringify([it, one.folder]);
    if (draw === drawn) return; // what one reads or marks stays
    drawn = draw;
    clear(state, badge(it));
    const reason = it.error ? reasonOf(it) : '';
    whole.textContent = it.error ?? '';
    clear(facts, Object.entries({
      'server.note': it.note,
      'server.error': reason && [h('p', null, reason), reason === it.error ? null : unabridged],
      'server.careful': it.careful,
      'server.remedy': it.remedy,
      'server.offers': offers(it),
      'server.is': it.server,
      'server.revision': it.revision,
      'server.origin': it.origin && h('code', null, it.origin),
      'server.source': it.source && place(one.folder, it.source),
      'server.running': it.running > 0 ? number(it.running) : '',
      'servers.lately': it.figures ? lately(it.figures) : '',
      'server.instances': it.maxInstances ? t('server.of', {n: number(it.instances ?? 0), most: number(it.maxInstances)}) : '',
      'server.users': it.users?.join(', '),
      'server.renamed': it.renamed?.join('; '),
      'server.added': it.added?.join(', '),
    }).filter(([, value]) => value).map(([key, value]) => [h('dt', null, t(key)), h('dd', {class: key === 'server.error' ? 'server-error' : null}, value)]));
    const now = JSON.stringify([it.state, it.definitions, it.withheld]);
    if (now !== seen) {
      seen = now;
      read();
    }
  }

  async function read() {
    try {
      const known = await get(`${at}/definitions`);
      if (!closed) showOffered(known);
    } catch (error) {
      clear(offered, h('h2', {id: 'offered-title'}, t('server.definitions')), trouble(error));
    }
    offered.removeAttribute('aria-busy');
    try {
      const {servers} = await get(`instances/${pid}/unapproved`);
      if (!closed) showApprovals(servers.find((one) => one.server === name));
    } catch (error) {
      approvals.hidden = false;
      clear(approvals, trouble(error));
    }
  }

  function showApprovals(one) {
    approvals.hidden = !one;
    if (!one) return;
    const button = h('button', {class: 'button-primary', onclick: async () => {
      button.disabled = true;
      try {
        await post(`${at}/approve?hash=${encodeURIComponent(one.hash)}`);
        tell(t('server.approved', {name}), 'good');
        approvals.hidden = true;
      } catch (error) {
        tell(reason(error), 'bad');
        read();
      }
    }}, t('server.approve'));
    const all = one.definitions.map((d) => h('details', {open: one.definitions.length < 4},
      h('summary', null, h('span', {class: 'mono'}, d.name), ' ', h('span', {class: 'badge'}, t(`server.kind.${d.kind}`)), ' ', h('span', {class: `badge ${d.changed ? 'badge-warn' : 'badge-accent'}`}, t(d.changed ? 'server.changed' : 'server.new')),
        findings(d.findings)),
      (d.findings ?? []).map((text) => h('p', {class: 'notice'}, text)),
      d.fields ? h('dl', {class: 'server-fields'}, d.fields.map(({field, text}) => [h('dt', null, field), h('dd', null, h('pre', null, text))])) : diff(d.diff)));
    const expand = all.length < 2 ? null : h('button', {onclick: () => all.forEach((details) => { details.open = true; })}, t('server.expand'));
    clear(approvals,
      h('div', {class: 'toolbar'}, h('h2', {id: 'approvals-title', class: 'grow'}, t('server.unapproved')), expand),
      h('p', {class: 'dim'}, t('server.unapproved.why')),
      all,
      h('div', {class: 'toolbar'}, button, h('span', {class: 'dim'}, t('server.hash')), h('span', {class: 'dim mono'}, one.hash)));
  }

  function showOffered(known) {
    const filter = h('input', {type: 'search', 'data-filter': true, 'aria-label': t('server.filter'), placeholder: t('server.filter'), oninput: sift});
    const items = [];
    const sections = ['tools', 'prompts', 'resources', 'templates'].filter((kind) => known[kind].length > 0).map((kind) => {
      const rows = known[kind].map((d) => {
        const node = definition(kind, d);
        items.push([node, `${d.name} ${d.own} ${d.definition.description ?? ''}`.toLowerCase()]);
        return node;
      });
      const cost = known[kind].reduce((sum, d) => sum + d.tokens, 0);
      return h('div', {class: 'stack'}, h('h3', null, plural(`servers.${kind}`, rows.length), ' ', h('span', {class: 'dim'}, plural('server.tokens', cost))), h('div', {class: 'server-list'}, rows));
    });
    function sift() {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const [node, text] of items) node.hidden = !words.every((word) => text.includes(word));
    }
    clear(offered,
      h('div', {class: 'toolbar'}, h('h2', {id: 'offered-title', class: 'grow'}, t('server.definitions')), items.length > 0 ? filter : null),
      known.instructions ? h('details', null, h('summary', null, t('server.instructions')), h('pre', null, known.instructions)) : null,
      !known.known ? h('p', {class: 'dim'}, t('server.unknown')) : sections.length === 0 ? h('p', {class: 'dim'}, t('server.nothing')) : sections);
  }

  async function readLog() {
    clearTimeout(timer);
    if (over) return;
    if (!document.hidden) {
      try {
        const {lines} = await get(`${at}/log`);
        if (closed) return;
        showLog(lines);
      } catch {
        // the state says what is wrong with the process
      }
    }
    if (!closed) timer = setTimeout(readLog, logPause);
  }

  const text = h('pre', {class: 'server-log', tabindex: '0', 'aria-labelledby': 'log-title'});
  function showLog(lines) {
    const now = lines.join('\n');
    if (now === text.textContent) return;
    const atEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 30;
    text.textContent = now;
    if (atEnd) text.scrollTop = text.scrollHeight;
  }
  clear(log, h('h2', {id: 'log-title'}, t('server.log')), h('p', {class: 'dim'}, t('server.log.what')), text);
  readLog();

  return {
    node: h('div', {class: 'stack'},
      h('p', null, h('a', {href: `#/servers/${pid}`}, t('server.back'))),
      h('div', {class: 'toolbar'}, h('h1', null, name), state, h('span', {class: 'grow'}), restart),
      said,
      h('section', {class: 'panel', 'aria-label': t('server.facts')}, facts),
      approvals, offered, log),
    show,
    end,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

// reasonOf is the error in one line, as the list has it.
function reasonOf({line, state}) {
  const careful = '; careful: ';
  if (line.startsWith(`${state}: `)) return line.slice(state.length + 2);
  return line.includes(careful) ? line.slice(line.indexOf(careful) + careful.length) : line;
}

// place is a file with its folder, which is that of the process where the file's name says none.
function place(folder, file) {
  if (!folder || /^([/\\~]|[A-Za-z]:)/.test(file)) return file;
  return `${folder}${folder.includes('\\') ? '\\' : '/'}${file}`;
}

function findings(list) {
  return list?.length ? [' ', h('span', {class: 'badge badge-warn'}, plural('server.findings', list.length))] : null;
}

// definition is one thing that a server offers, with all of it below.
function definition(kind, d) {
  const it = d.definition;
  const hints = Object.entries(it.annotations ?? {}).filter(([, value]) => value === true).map(([key]) => key.replace(/Hint$/, ''));
  return h('details', {class: 'server-item', open: Boolean(d.faults)},
    h('summary', null,
      h('span', {class: 'mono server-own'}, d.name || d.own),
      ['tools', 'prompts'].includes(kind) && d.name === '' ? [' ', h('span', {class: 'badge'}, t('server.hidden'))] : null,
      d.state && d.state !== 'same' ? [' ', h('span', {class: 'badge badge-warn'}, t(`server.${d.state}`))] : null,
      hints.map((hint) => [' ', h('span', {class: 'badge'}, hint)]),
      findings(d.findings),
      d.faults ? [' ', h('span', {class: 'badge badge-bad'}, plural('server.faults', d.faults.length))] : null,
      h('span', {class: 'dim server-cost'}, plural('server.tokens', d.tokens)),
      it.description ? h('span', {class: 'dim server-about'}, it.description) : null),
    (d.faults ?? []).map((text) => h('p', {class: 'notice notice-bad'}, text)),
    (d.findings ?? []).map((text) => h('p', {class: 'notice'}, text)),
    d.name && d.name !== d.own ? h('p', {class: 'dim'}, t('server.own', {name: d.own})) : null,
    h('pre', null, JSON.stringify(it, null, 2)));
}
