// A connection as a whole: how it came about, what the server is and can do, what is listened for, tasks.
import {line} from './activity.js';
import {put} from './api.js';
import {clear, h, link} from './dom.js';
import {result, text} from './results.js';
import {failure, took} from './run.js';
import {tree} from './tree.js';
import {reason} from './parts.js';
import {clock, t} from './words.js';

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency', 'none'];
const listed = {toolsListChanged: 'tools', resourcesListChanged: 'resources', promptsListChanged: 'prompts'};

/** overview shows it. */
export function overview(session) {
  const steps = h('section', {class: 'panel stack', 'aria-label': t('inspector.steps')});
  const server = h('section', {class: 'panel stack', 'aria-label': t('inspector.server')});
  const controls = h('section', {class: 'panel stack', 'aria-label': t('inspector.controls')});
  const tasks = h('section', {class: 'panel stack', 'aria-label': t('inspector.tasks')});
  const fault = h('p', {class: 'problem', role: 'alert'});
  const answer = h('span', {class: 'dim', role: 'status'});
  const looked = new Map(); // results of tasks, by id

  const tried = (f) => async () => {
    fault.textContent = '';
    try {
      await f();
    } catch (error) {
      fault.textContent = reason(error);
    }
  };

  function drawSteps() {
    const {events, view} = session;
    const isLegacy = ({step}) => step === 'discover' && events.steps.some((one) => one.step === 'initialize' && one.ok); // how its era was found, and no failure
    clear(steps, h('h3', null, t('inspector.steps')),
      events.steps.length === 0 && view.state !== 'connecting' ? h('p', {class: 'dim'}, t('inspector.steps.none')) : null,
      h('ol', {class: 'ins-steps'}, events.steps.map((one) => h('li', {class: one.ok ? 'ins-ok' : isLegacy(one) ? null : 'ins-not'},
        h('span', {class: 'ins-mark', role: 'img', 'aria-label': t(one.ok ? 'inspector.step.ok' : isLegacy(one) ? 'traffic.legacy' : 'inspector.step.not')}, one.ok ? '✓' : isLegacy(one) ? '–' : '✗'),
        h('span', null, h('strong', null, one.step), ' ', one.detail), h('span', {class: 'dim ins-number'}, took(one.ms)))),
      view.state === 'connecting' ? h('li', {class: 'dim'}, h('span', {class: 'ins-mark'}, '…'), h('span', null, t('inspector.connecting')), h('span')) : null),
      events.lines.length === 0 ? null : h('details', {open: view.state !== 'connected' || events.lines.some((one) => one.from === 'stdout')}, h('summary', null, t('inspector.events.output')), h('div', {class: 'code ins-short', tabindex: '0'}, events.lines.slice(-30).map(line))));
  }

  function drawServer() {
    const {view} = session;
    const pair = (word, value) => (value ? [h('dt', null, t(`inspector.fact.${word}`)), h('dd', null, value)] : null);
    const {info} = view;
    clear(server, h('h3', null, t('inspector.server')),
      h('dl', {class: 'pairs'},
        pair('name', info ? [info.title ?? info.name, ' ', h('span', {class: 'dim'}, info.version ?? '')] : null),
        pair('description', info?.description), pair('website', info?.websiteUrl ? link(info.websiteUrl, info.websiteUrl) : null),
        pair('origin', view.origin), pair('reached', h('code', null, address(view.reached ?? view.server))),
        pair('transport', view.transport), pair('era', view.era ? t(`inspector.era.${view.era}`) : null), pair('revision', view.revision)),
      view.instructions ? h('div', null, h('h4', null, t('inspector.instructions')), h('div', {class: 'ins-instructions', tabindex: '0', role: 'region', 'aria-label': t('inspector.instructions')}, text(view.instructions))) : null,
      view.capabilities ? h('div', null, h('h4', null, t('inspector.capabilities')), tree(view.capabilities, t('inspector.capabilities'))) : null);
  }

  function drawControls() {
    const {view} = session;
    const on = view.state === 'connected';
    const filter = session.filter();
    const level = h('select', {disabled: !on, onchange: tried(() => put(`${session.path}/loglevel`, {level: level.value}))}, levels.map((name) => h('option', {value: name, selected: name === (view.level || 'none')}, name === 'none' ? t('inspector.level.none') : name)));
    clear(controls, h('h3', null, t('inspector.controls')),
      h('div', {class: 'toolbar'},
        h('button', {type: 'button', disabled: !on, onclick: tried(async () => {
          answer.textContent = t('inspector.waiting');
          const {ms, error} = await session.ask('ping');
          answer.textContent = error ? error.cause : t('inspector.ping.answered', {time: took(ms)});
        })}, t('inspector.ping')), answer, h('span', {class: 'grow'}),
        h('label', {class: 'toolbar'}, t('inspector.level'), level)),
      h('fieldset', {class: 'ins-choices', disabled: !on}, h('legend', null, t('inspector.listen')), Object.entries(listed).map(([member, word]) => h('label', {class: 'toolbar'},
        h('input', {type: 'checkbox', checked: filter[member] === true, onchange: (event) => tried(() => session.subscribe({...session.filter(), [member]: event.target.checked}))()}), t(`inspector.section.${word}`)))),
      (filter.resourceSubscriptions ?? []).length > 0 ? h('ul', {class: 'ins-uris'}, filter.resourceSubscriptions.map((uri) => h('li', null, h('code', null, uri)))) : null,
      view.subscriptions ? h('p', {class: 'dim'}, view.subscriptions.agreed ? t('inspector.listen.agreed', {what: Object.entries(view.subscriptions.agreed).filter(([, value]) => value === true || value?.length > 0).map(([name]) => name).join(', ') || t('inspector.listen.nothing')}) : t('inspector.listen.waiting')) : null,
      fault);
  }

  function drawTasks() {
    const known = new Map([...session.requests.values()].map((one) => [one.result?.task?.taskId ?? one.result?.taskId, one]).filter(([id, one]) => typeof id === 'string' && one.method === 'tools/call').map(([id, one]) => [id, {task: id, request: one.request, status: (one.result.task ?? one.result).status}]));
    for (const [id, one] of session.tasks) known.set(id, {...known.get(id), ...one});
    tasks.hidden = known.size === 0;
    const ask = (method, id) => tried(async () => {
      const {result: value, error} = await session.ask(method, {taskId: id}, {task: true});
      looked.set(id, error ? failure(error) : method === 'tasks/cancel' ? h('p', {class: 'dim'}, t('inspector.task.cancelled')) : result(method === 'tasks/result' || value?.result ? 'tools/call' : method, value?.result ?? value));
      const status = value?.status ?? (method === 'tasks/result' && value ? 'completed' : undefined);
      if (status) session.tasks.set(id, {...known.get(id), status, message: value.statusMessage});
      drawTasks();
    });
    clear(tasks, h('h3', null, t('inspector.tasks')), [...known.values()].reverse().map((one) => h('div', {class: 'ins-task stack'},
      h('div', {class: 'toolbar'}, h('code', null, one.task), one.status ? h('span', {class: `badge badge-${{completed: 'good', failed: 'bad', cancelled: 'warn'}[one.status] ?? 'accent'}`}, one.status) : null, h('span', {class: 'dim grow'}, one.message ?? ''),
        h('button', {type: 'button', onclick: ask('tasks/get', one.task)}, t('inspector.task.look')),
        session.view.era === 'legacy' ? h('button', {type: 'button', onclick: ask('tasks/result', one.task)}, t('inspector.task.result')) : null,
        h('button', {type: 'button', class: 'button-bad', onclick: ask('tasks/cancel', one.task)}, t('inspector.cancel'))), looked.get(one.task) ?? null)));
  }

  function draw() {
    drawSteps();
    drawServer();
    drawControls();
    drawTasks();
  }
  draw();
  return {
    node: h('div', {class: 'ins-overview'}, h('div', {class: 'stack'}, steps, controls, tasks), server),
    update(topic) {
      if (topic === 'state') draw();
      if (['step', 'stderr', 'stdout'].includes(topic)) drawSteps();
      if (topic === 'subscription') drawControls();
      if (topic === 'task' || topic === 'result') drawTasks();
    },
  };
}

/** address is how a server is reached, in a line. */
export function address(server) {
  return server?.url ?? (server?.command ? [server.command, ...server.args ?? []].map((word) => (/^[\w./:@%+=,-]+$/.test(word) ? word : JSON.stringify(word))).join(' ') : server?.server ?? '');
}

/** fault is why there is no connection, and how to fix it. */
export function fault(view, actions) {
  const one = view.fault;
  if (!one) return null;
  return h('section', {class: 'notice notice-bad stack', role: 'alert'},
    h('p', null, h('strong', null, t(`inspector.state.${view.state}`), one.link ? ` (${one.link})` : '', ': '), one.cause),
    one.remedy ? h('p', null, h('strong', null, t('inspector.remedy'), ' '), one.remedy) : null,
    h('div', {class: 'toolbar'}, actions), view.time ? h('span', {class: 'quiet'}, clock(view.time)) : null);
}
