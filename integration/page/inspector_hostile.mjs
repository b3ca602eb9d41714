// A server on standard input and output whose every text is an attack on whoever shows it: payloads.json.
import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';

const payloads = JSON.parse(readFileSync(new URL('payloads.json', import.meta.url), 'utf8'));
const send = (message) => process.stdout.write(JSON.stringify({jsonrpc: '2.0', ...message}) + '\n');
const base64 = (text) => Buffer.from(text).toString('base64');
const picture = (payload) => `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="window.ran=1"><script>window.ran=1</script><image href="https://evil.example/d"/><foreignObject>${payload.replace(/[<>&]/g, '')}<body xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="window.ran=1"/></body></foreignObject></svg>`;
const tool = (payload, n) => ({
  name: `${n} ${payload}`, title: payload, description: `${payload}\n${payload}`, annotations: {title: payload, readOnlyHint: true},
  inputSchema: {type: 'object', title: payload, properties: {text: {type: 'string', title: payload, description: payload, default: payload}, choice: {enum: [payload, 'other'], description: payload}}},
  ...(n === 0 && {outputSchema: {type: 'object', title: payload, required: ['number'], properties: {number: {type: 'number', description: payload}}}}),
});
const content = (payload) => [
  {type: 'text', text: payload, annotations: {audience: [payload]}},
  {type: 'text', text: `# ${payload}\n\n- **${payload}**\n- [${payload}](${payload})\n- [x](javascript:window.ran=1)\n\n| a |\n|---|\n| ${payload} |`},
  {type: 'text', text: JSON.stringify({[payload]: payload})},
  {type: 'image', mimeType: 'image/svg+xml', data: base64(picture(payload))},
  {type: 'image', mimeType: 'text/html', data: base64(payload)},
  {type: 'image', mimeType: `image/png" onerror="window.ran=1`, data: base64(payload)},
  {type: 'image', mimeType: 'image/png', data: `x" onerror="window.ran=1`},
  {type: 'audio', mimeType: 'audio/wav', data: base64(payload)},
  {type: 'resource_link', uri: payload, name: payload, title: payload, description: payload, mimeType: payload},
  {type: 'resource', resource: {uri: payload, mimeType: 'text/html', text: `<!doctype html><script>window.ran=1;parent.ran=1</script>${payload}`}},
  {type: 'resource', resource: {uri: payload, mimeType: 'text/html', blob: base64(payload)}},
  {type: payload, text: payload},
];

const asked = new Map(); // calls that wait for the answer to a question

createInterface({input: process.stdin}).on('line', (line) => {
  const {id, method, params} = JSON.parse(line);
  const reply = (result) => send({id, result});
  if (asked.has(id)) return asked.get(id)();
  const at = Number.parseInt(params?.name ?? params?.uri?.slice(4), 10) || 0;
  const payload = payloads[at] ?? payloads[0];
  switch (method) {
    case 'initialize':
      process.stderr.write(`${payloads[0]}\n`);
      return reply({protocolVersion: '2025-11-25', capabilities: {tools: {listChanged: true}, resources: {}, prompts: {}, logging: {}, experimental: {[payloads[1]]: {[payloads[0]]: payloads[2]}}},
        serverInfo: {name: payloads[0], title: payloads[1], version: payloads[2], websiteUrl: 'javascript:window.ran=1'}, instructions: payloads.join('\n')});
    case 'ping': return reply({});
    case 'tools/list': return reply({tools: payloads.map(tool)});
    case 'resources/list': return reply({resources: payloads.map((one, n) => ({uri: `x://${n}/${one}`, name: one, title: one, description: one, mimeType: one}))});
    case 'resources/templates/list': return reply({resourceTemplates: payloads.map((one, n) => ({uriTemplate: `x://${n}/{a}${one}`, name: one, description: one}))});
    case 'prompts/list': return reply({prompts: payloads.map((one, n) => ({name: `${n} ${one}`, title: one, description: one, arguments: [{name: one, description: one}]}))});
    case 'tools/call':
      send({method: 'notifications/message', params: {level: 'error', logger: payload, data: payload}});
      if (at % 20 === 1) {
        asked.set(`q${at}`, () => reply({content: content(payload)}));
        return send({id: `q${at}`, method: 'elicitation/create', params: {mode: 'form', message: payload, requestedSchema: {type: 'object', properties: {a: {type: 'string', title: payload, description: payload, default: payload}}}}});
      }
      if (at % 20 === 2) return send({id, error: {code: -32000, message: payload, data: {[payload]: payload}}});
      return reply({content: content(payload), structuredContent: {[payload]: payload}, _meta: {[`x/${at}`]: payload}});
    case 'resources/read': return reply({contents: [{uri: payload, mimeType: 'text/html', text: payload}, {uri: payload, mimeType: 'image/svg+xml', blob: base64(picture(payload))}]});
    case 'prompts/get': return reply({description: payload, messages: [{role: payload, content: {type: 'text', text: payload}}, {role: 'user', content: content(payload)[9]}]});
  }
  if (id !== undefined && method) send({id, error: {code: -32601, message: payloads[3]}});
});
