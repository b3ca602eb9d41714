// Which server to connect to: one of the configuration, a URL, or a command.
import {get, post} from './api.js';
import {pairs, server} from './command.js';
import {clear, h} from './dom.js';
import {reason, trouble} from './parts.js';
import {t} from './words.js';

const revisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** connect shows the choice; begun is called with the connection that was begun, given is what stands in the field. */
export function connect(begun, given = '') {
  const list = h('div', {class: 'ins-list', 'aria-busy': 'true'});
  const filter = h('input', {type: 'search', 'data-filter': '', placeholder: t('inspector.filter'), 'aria-label': t('inspector.filter'), oninput: () => draw()});
  const fault = h('p', {class: 'problem', role: 'alert'});
  const field = h('input', {class: 'mono', id: 'inspector-address', value: given, placeholder: 'https://example.com/mcp', autocomplete: 'off', spellcheck: 'false'});
  const headers = h('textarea', {rows: 2, class: 'mono', id: 'inspector-headers', placeholder: 'Authorization: Bearer …', spellcheck: 'false'});
  const folder = h('input', {class: 'mono', id: 'inspector-folder', placeholder: '/home/me/project'});
  const revision = h('select', {id: 'inspector-revision'}, h('option', {value: ''}, t('inspector.revision.any')), revisions.map((name) => h('option', {value: name}, name)));
  let all = [];

  async function begin(wanted) {
    fault.textContent = '';
    try {
      begun(await post('connections', {...wanted, ...(revision.value && {revision: revision.value})}));
    } catch (error) {
      fault.textContent = reason(error);
    }
  }

  function typed(event) {
    event.preventDefault();
    const wanted = server(field.value);
    const named = pairs(headers.value);
    if (all.some((one) => one.name === field.value.trim())) return begin({server: field.value.trim()});
    if (wanted.problem) fault.textContent = t(`inspector.connect.${wanted.problem}`);
    else if (named === null) fault.textContent = t('inspector.connect.headers');
    else return begin({...wanted, ...(wanted.url && Object.keys(named).length > 0 && {headers: named}), ...(wanted.command && folder.value && {cwd: folder.value})});
    field.focus();
    return undefined;
  }

  function draw() {
    const word = filter.value.trim().toLowerCase();
    const rows = all.filter((one) => word === '' || `${one.name} ${one.reached ?? ''} ${one.origin}`.toLowerCase().includes(word));
    clear(list, rows.length === 0 ? h('p', {class: 'empty'}, t(all.length === 0 ? 'inspector.servers.none' : 'inspector.filter.none')) : rows.map((one) => h('button', {type: 'button', class: 'ins-entry', 'data-row': '', onclick: () => begin({server: one.name})},
      h('span', {class: 'ins-name'}, one.name, one.disabled ? h('span', {class: 'badge'}, t('inspector.servers.off')) : null),
      one.reached ? h('span', {class: 'ins-about mono'}, one.reached) : null, h('span', {class: 'ins-about'}, one.origin))));
  }

  get('servers').then(({servers, problems}) => {
    all = servers;
    draw();
    if (problems?.length) list.before(...problems.map((text) => h('p', {class: 'notice'}, text)));
  }, (error) => clear(list, trouble(error))).finally(() => list.removeAttribute('aria-busy'));

  return {
    node: h('div', {class: 'ins-connect'},
      h('form', {class: 'panel stack', onsubmit: typed},
        h('h2', null, t('inspector.connect.title')),
        h('div', {class: 'field'}, h('label', {for: 'inspector-address'}, t('inspector.connect.address')), field, h('span', {class: 'hint'}, t('inspector.connect.hint'))),
        h('details', null, h('summary', null, t('inspector.connect.more')), h('div', {class: 'stack ins-more'},
          h('div', {class: 'field'}, h('label', {for: 'inspector-revision'}, t('inspector.fact.revision')), revision),
          h('div', {class: 'field'}, h('label', {for: 'inspector-headers'}, t('inspector.connect.headerlines')), headers),
          h('div', {class: 'field'}, h('label', {for: 'inspector-folder'}, t('inspector.connect.folder')), folder))),
        fault, h('div', {class: 'toolbar'}, h('button', {class: 'button-primary', type: 'submit'}, t('inspector.connect')))),
      h('section', {class: 'panel stack', 'aria-labelledby': 'inspector-servers'}, h('div', {class: 'toolbar'}, h('h2', {id: 'inspector-servers', class: 'grow'}, t('inspector.servers')), h('span', {class: 'ins-filter'}, filter)), list)),
    focus: () => (given ? field.focus() : null),
    update() {},
  };
}
