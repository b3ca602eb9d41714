// One gateway: what it is made of, what its rules would decide, and what was called.
import {clear, h} from './dom.js';
import {get, post} from './api.js';
import {parse} from './json.js';
import {reason, table, trouble} from './parts.js';
import {duration, moment, number, plural, t} from './words.js';
import {offers, remarks} from './servers.js';
import {badge} from './server.js';

/** gateway is the part of the page about one junction up. */
export function gateway(pid, {say}) {
  const at = `instances/${pid}`;
  const head = h('div', {class: 'stack'});
  const made = h('section', {class: 'panel stack', 'aria-labelledby': 'made-title', 'aria-busy': 'true'});
  const rules = h('section', {class: 'panel stack', 'aria-labelledby': 'rules-title'});
  const calls = h('section', {class: 'panel stack', 'aria-labelledby': 'calls-title'});
  let last = '';

  function show(one) {
    const now = JSON.stringify(one);
    if (now === last) return;
    last = now;
    clear(head,
      h('div', {class: 'toolbar'}, h('h1', {class: 'mono'}, one.endpoint), h('span', {class: 'dim'}, t('servers.process', {pid})), h('span', {class: 'grow'}), reload),
      one.folder ? h('p', {class: 'dim mono'}, one.folder) : null,
      h('p', null, one.summary),
      remarks(one),
      h('ul', {class: 'gateway-servers'}, (one.servers ?? []).map((s) => h('li', null,
        h('a', {href: `#/servers/${pid}/${encodeURIComponent(s.name)}`}, s.name), ' ', badge(s), ' ', h('span', {class: 'dim'}, offers(s))))));
    servers.replaceChildren(...(one.servers ?? []).map((s) => h('option', {value: s.name})));
  }

  const reload = h('button', {onclick: async () => {
    reload.disabled = true;
    try {
      await post(`${at}/reload`);
      say(t('gateway.reloaded'));
      read();
    } catch (error) {
      say(reason(error));
      clear(made, trouble(error, 'alert'));
    }
    reload.disabled = false;
  }}, t('gateway.reload'));
  const servers = h('datalist', {id: 'gateway-servers'});
  const tools = h('datalist', {id: 'gateway-tools'});
  const profiles = h('datalist', {id: 'gateway-profiles'});

  // offer gives the names of a server's tools to choose from.
  async function offer(server) {
    const known = [...servers.options].some(({value}) => value === server);
    const offered = known ? await get(`${at}/servers/${encodeURIComponent(server)}/definitions`).catch(() => null) : null; // it can be typed
    if (server === wanted) tools.replaceChildren(...(offered?.tools ?? []).map(({own}) => h('option', {value: own})));
  }
  let wanted = ''; // the server whose tools are offered

  async function read() {
    try {
      showMade(await get(`${at}/gateway`));
    } catch (error) {
      clear(made, trouble(error, 'alert'));
    }
    made.removeAttribute('aria-busy');
  }

  function showMade(it) {
    clear(made,
      h('h2', {id: 'made-title'}, t('gateway.made')),
      h('dl', {class: 'pairs'}, Object.entries({
        'gateway.cost': it.listedTokens < it.tokens ? t('gateway.searched', {n: number(it.tokens)}) : plural('server.tokens', it.tokens),
        'gateway.policy': it.policy.length > 0 ? it.policy.join(', ') + (it.shadow ? ' – ' + t('gateway.shadow') : '') : t('gateway.norules'),
        'gateway.review': it.review,
        'gateway.audit': it.audit || t('gateway.noaudit'),
      }).map(([key, value]) => [h('dt', null, t(key)), h('dd', null, value)])),
      it.profiles.length > 0 ? [h('h3', null, t('gateway.profiles')), table(t('gateway.profiles'), ['profile', 'endpoint', 'servers', 'tools'].map((key) => t(`gateway.${key}`)),
        it.profiles.map((p) => h('tr', null, h('td', null, p.name), h('td', {class: 'mono'}, p.endpoint ?? ''), h('td', null, (p.servers ?? []).join(', ')), h('td', null, p.tools))))] : null);
    profiles.replaceChildren(...it.profiles.map(({name}) => h('option', {value: name})));
    showRules(it.policy.length > 0);
    showCalls(it.audit !== '');
  }

  function showRules(some) {
    rules.hidden = !some;
    if (!some || rules.firstChild) return;
    const field = (key, props) => {
      const input = h('input', {id: `rules-${key}`, ...props});
      return [h('div', {class: 'field'}, h('label', {for: `rules-${key}`}, t(`gateway.rules.${key}`)), input), input];
    };
    const [serverField, server] = field('server', {required: true, list: 'gateway-servers', autocomplete: 'off', oninput: () => { if (server.value !== wanted) offer(wanted = server.value); }});
    const [toolField, tool] = field('tool', {required: true, list: 'gateway-tools', autocomplete: 'off', class: 'mono'});
    const [whoField, who] = field('who', {autocomplete: 'off'});
    const [clientField, client] = field('client', {autocomplete: 'off'});
    const [profileField, profile] = field('profile', {list: 'gateway-profiles', autocomplete: 'off'});
    const args = h('textarea', {id: 'rules-arguments', rows: '4', class: 'mono', spellcheck: 'false', value: '{}'});
    const answer = h('div', {class: 'stack', role: 'status'});
    clear(rules,
      h('h2', {id: 'rules-title'}, t('gateway.rules')),
      h('p', {class: 'dim'}, t('gateway.rules.what')),
      h('form', {class: 'stack', onsubmit: async (event) => {
        event.preventDefault();
        let given;
        try {
          given = parse(args.value || '{}');
        } catch (error) {
          clear(answer, h('p', {class: 'notice notice-bad'}, t('gateway.rules.notjson', {why: error.message})));
          return;
        }
        try {
          clear(answer, decision(await post(`${at}/explain`, {server: server.value, tool: tool.value, arguments: given, client: client.value, profile: profile.value, principal: {subject: who.value}})));
        } catch (error) {
          clear(answer, trouble(error));
        }
      }},
      h('div', {class: 'gateway-fields'}, serverField, toolField, whoField, clientField, profileField),
      h('div', {class: 'field'}, h('label', {for: 'rules-arguments'}, t('gateway.rules.arguments')), args),
      h('div', {class: 'toolbar'}, h('button', {class: 'button-primary'}, t('gateway.rules.try')))),
      servers, tools, profiles, answer);
  }

  function showCalls(some) {
    calls.hidden = !some;
    if (!some || calls.firstChild) return;
    const wanted = {};
    const field = (key, input) => {
      wanted[key] = input;
      return h('div', {class: 'field'}, h('label', {for: `calls-${key}`}, t(`gateway.calls.${key}`)), input);
    };
    const words = (key) => field(key, h('input', {id: `calls-${key}`, type: 'search', autocomplete: 'off', 'data-filter': key === 'tool' || null}));
    const choice = (key, values) => field(key, h('select', {id: `calls-${key}`}, ['', ...values].map((value) => h('option', {value}, value || t('gateway.calls.any')))));
    const kinds = {'call,decision': 'both', call: 'calls', decision: 'decisions', admin: 'events', '': 'all'}; // without more no signatures of the log
    const found = h('div', {class: 'stack'});
    const verdict = h('div', {role: 'status'});
    async function query(event) {
      event?.preventDefault();
      const search = new URLSearchParams(Object.entries(wanted).map(([key, input]) => [key, input.value]).filter(([, value]) => value !== ''));
      try {
        const {count, lines} = await get(`${at}/audit?${search}`);
        const kind = t(`gateway.calls.kind.${kinds[search.get('kind') ?? '']}`);
        clear(found, h('p', {class: 'dim'}, count > lines.length ? t('gateway.calls.last', {n: number(lines.length), all: number(count), kind}) : plural('gateway.calls.count', count, {kind})), auditLines(lines));
      } catch (error) {
        clear(found, trouble(error));
      }
    }
    const verify = h('button', {type: 'button', onclick: async () => {
      verify.disabled = true;
      try {
        clear(verdict, verified(await post(`${at}/audit/verify`)));
      } catch (error) {
        clear(verdict, trouble(error));
      }
      verify.disabled = false;
    }}, t('gateway.calls.verify'));
    clear(calls,
      h('h2', {id: 'calls-title'}, t('gateway.calls')),
      h('form', {class: 'stack', onsubmit: query},
        h('div', {class: 'gateway-fields'}, field('kind', h('select', {id: 'calls-kind'}, Object.entries(kinds).map(([value, key]) => h('option', {value}, t(`gateway.calls.kind.${key}`))))),
          words('tool'), words('server'), words('principal'), words('client'),
          choice('outcome', ['ok', 'tool_error', 'input_required', 'cancelled', 'error']), choice('decision', ['allow', 'ask', 'deny']), words('since')),
        h('div', {class: 'toolbar'}, h('button', {class: 'button-primary'}, t('gateway.calls.query')), verify)),
      verdict, found);
    query();
  }

  read();
  return {
    node: h('div', {class: 'stack'}, h('p', null, h('a', {href: '#/servers'}, t('gateway.back'))), head, made, rules, calls),
    show,
  };
}

const effects = {allow: 'badge-good', ask: 'badge-warn', deny: 'badge-bad'};

function decision(it) {
  return [
    h('p', null, h('span', {class: `badge ${effects[it.effect] ?? ''}`}, it.effect), ' ', it.reason),
    it.hidden ? h('p', {class: 'dim'}, t('gateway.rules.hidden')) : null,
    it.rules.length > 0 ? table(t('gateway.rules'), ['outcome', 'effect', 'why'].map((key) => t(`gateway.rules.${key}`)),
      it.rules.map((step) => h('tr', null, h('td', null, step.outcome), h('td', null, step.rule?.effect ?? ''), h('td', null, step.rule?.name ?? step.rule?.source ?? '', step.why ? ` ${step.why}` : '')))) : null,
  ];
}

function auditLines(lines) {
  return lines.length === 0 ? null : table(t('gateway.calls'), ['time', 'kind', 'name', 'outcome', 'who', 'took'].map((key) => t(`gateway.calls.${key}`)),
    lines.toReversed().map((line) => h('tr', null,
      h('td', {class: 'mono gateway-time'}, moment(line.time)),
      h('td', null, line.kind),
      h('td', null, h('details', null, h('summary', {class: 'mono'}, [line.event, line.server && line.event ? line.server : null, line.name ?? line.method ?? (line.event ? null : line.kind)].filter(Boolean).join(' ')), h('pre', null, JSON.stringify(line, null, 2)))),
      h('td', null, outcome(line)),
      h('td', null, [line.principal, line.role && t('gateway.calls.role', {name: line.role}), line.client, line.approver && t('gateway.calls.approver', {name: line.approver, role: line.approver_role ?? ''}), line.operator, line.address].filter(Boolean).join(' · ')),
      h('td', null, line.duration_us ? duration(line.duration_us * 1000) : ''))));
}

function outcome(line) {
  const kind = {ok: 'badge-good', tool_error: 'badge-bad', error: 'badge-bad'}[line.outcome] ?? effects[line.decision] ?? '';
  const text = line.outcome ?? line.decision;
  return text ? h('span', {class: `badge ${kind}`}, text) : '';
}

function verified(it) {
  if (it.faultCount === 0) return h('p', {class: 'gateway-whole'}, t('gateway.calls.whole', {first: number(it.first), last: number(it.last), unsigned: number(it.unsigned)}));
  return h('div', {class: 'notice notice-bad stack'}, h('p', null, plural('gateway.calls.changed', it.faultCount)), h('ul', null, it.faults.map((fault) => h('li', {class: 'mono'}, fault))));
}
