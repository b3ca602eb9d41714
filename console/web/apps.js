// MCP Apps: documents of a server in a frame of an origin of its own, which can do what the extension lets it and no more.
import {h} from './dom.js';
import {t} from './words.js';

const known = '2026-01-26';

/** appOf is the URI of the view in which a tool's results are shown; empty where it has none. */
export function appOf(entry) {
  const uri = entry?._meta?.ui?.resourceUri ?? entry?._meta?.['ui/resourceUri'];
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : '';
}

/**
 * app shows the view of a tool with the arguments and the result of a run; null where it has none. The frame talks to the
 * page by messages: it may call tools of the same server that are for apps, read resources, and say how high it is.
 */
export function app(session, kind, entry, n) {
  const uri = kind === 'tools' ? appOf(entry) : '';
  if (!uri) return null;
  const frame = h('iframe', {class: 'ins-app', sandbox: 'allow-scripts', referrerpolicy: 'no-referrer', title: t('inspector.app', {name: entry.name}), src: `api/v1/${session.path}/app?uri=${encodeURIComponent(uri)}`});
  const say = (message) => frame.contentWindow?.postMessage({jsonrpc: '2.0', ...message}, '*'); // its origin has no name
  let begun = false;

  async function answer(method, params) {
    switch (method) {
      case 'ui/initialize':
        return {protocolVersion: known, hostInfo: {name: 'junction', version: '1'}, hostCapabilities: {serverTools: {}, serverResources: {}, logging: {}},
          hostContext: {theme: document.documentElement.dataset.theme, displayMode: 'inline', availableDisplayModes: ['inline'], locale: document.documentElement.lang, toolInfo: {tool: entry}}};
      case 'ping': return {};
      case 'ui/request-display-mode': return {mode: 'inline'};
      case 'tools/call': {
        const visible = session.entry('tools', params?.name)?._meta?.ui?.visibility;
        if (visible !== undefined && !(Array.isArray(visible) && visible.includes('app'))) throw refusal(-32602, 'this tool is not for apps');
        return outcome(await session.ask(method, {name: String(params?.name), arguments: params?.arguments ?? {}}));
      }
      case 'resources/read': return outcome(await session.ask(method, {uri: String(params?.uri)}));
      case 'ui/open-link': case 'ui/message': throw refusal(-32000, 'the inspector does not do this');
    }
    throw refusal(-32601, `the inspector does not know ${String(method).slice(0, 100)}`);
  }

  async function heard(event) {
    if (!frame.isConnected) removeEventListener('message', heard);
    if (event.source !== frame.contentWindow || event.source === null || event.data?.jsonrpc !== '2.0') return;
    const {id, method, params} = event.data;
    if (id === undefined) {
      if (method === 'ui/notifications/initialized' && !begun) {
        begun = true;
        const run = await session.outcome(n);
        say({method: 'ui/notifications/tool-input', params: {arguments: run.params?.arguments ?? {}}});
        if (run.result) say({method: 'ui/notifications/tool-result', params: run.result});
        else say({method: 'ui/notifications/tool-cancelled', params: {reason: run.error?.cause ?? ''}});
      } else if (method === 'ui/notifications/size-changed' && Number.isFinite(params?.height)) {
        frame.style.setProperty('height', `${Math.min(2000, Math.max(40, params.height))}px`);
      }
      return;
    }
    if (method === undefined) return;
    try {
      say({id, result: await answer(method, params)});
    } catch (error) {
      say({id, error: {code: error.code ?? -32603, message: error.message}});
    }
  }
  addEventListener('message', heard);
  return h('section', {class: 'ins-part', 'aria-label': t('inspector.app', {name: entry.name})}, h('h4', null, t('inspector.app', {name: entry.name})), frame);
}

const refusal = (code, message) => Object.assign(new Error(message), {code});

function outcome({result, error}) {
  if (error) throw refusal(error.code ?? -32603, error.cause);
  return result;
}
