// Servers on standard input and output that somebody has to see in the console: one whose tool is what a file says, one whose
// every text is an attack on whoever shows it (payloads.json), and some with a fault each.
import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';

const [kind, file] = process.argv.slice(2);
const payloads = JSON.parse(readFileSync(new URL('payloads.json', import.meta.url), 'utf8'));
const hostile = kind.startsWith('hostile');
const send = (message) => process.stdout.write(JSON.stringify({jsonrpc: '2.0', ...message}) + '\n');
const input = {type: 'object', properties: {text: {type: 'string'}}};

function tools() {
  switch (kind) {
    case 'changing': return [{name: 'weather', inputSchema: input, ...JSON.parse(readFileSync(file, 'utf8'))}];
    case 'schema': return [{name: 'good', description: 'Good.', inputSchema: input}, {name: 'bad', description: 'Bad.', inputSchema: {type: 'string'}}];
    case 'hostile': return payloads.map((one, n) => ({name: n < 5 ? `t${n}` : `${n} ${one}`, title: one, description: `${one}\n${one}`, annotations: {title: one, readOnlyHint: true, [one]: true},
      inputSchema: {type: 'object', title: one, properties: {text: {type: 'string', title: one, description: one, default: one}, [one]: {enum: [one]}}}}));
  }
  return [{name: 'go', description: 'Goes.', inputSchema: input}];
}

if (kind === 'variable') {
  console.error('Error: WEATHER_API_KEY environment variable is required');
  process.exit(1);
}
if (kind === 'talks') console.error('It started.');
if (kind === 'noise') console.log('Server running on stdio');
if (hostile) console.error(payloads.map((one) => one.replaceAll('\n', ' ')).join('\n'));
if (kind === 'hostile-failing') {
  console.error(`Error: ${payloads[1]}`);
  process.exit(1);
}

createInterface({input: process.stdin}).on('line', (line) => {
  if (kind === 'slow') return;
  const {id, method, params} = JSON.parse(line);
  const reply = (result) => send({id, result});
  switch (method) {
    case 'initialize':
      return reply({protocolVersion: kind === 'era' ? '1999-01-01' : '2025-11-25', capabilities: {tools: {}, ...(hostile ? {resources: {}, prompts: {}} : {})},
        serverInfo: hostile ? {name: payloads[0], title: payloads[1], version: payloads[1]} : {name: kind, version: '1'}, instructions: hostile ? payloads.join('\n') : undefined});
    case 'ping': return reply({});
    case 'tools/list': return reply({tools: tools()});
    case 'resources/list': return reply({resources: payloads.map((one, n) => ({uri: `x://${n}/${one}`, name: one, title: one, description: one, mimeType: one}))});
    case 'resources/templates/list': return reply({resourceTemplates: payloads.map((one, n) => ({uriTemplate: `x://${n}/{a}${one}`, name: one, description: one}))});
    case 'prompts/list': return reply({prompts: payloads.map((one, n) => ({name: `${n} ${one}`, title: one, description: one, arguments: [{name: one, description: one}]}))});
    case 'tools/call':
      if (kind === 'crash') {
        console.error('TypeError: cannot read properties of undefined');
        process.exit(3);
      }
      if (hostile) return send({id, error: {code: -32000, message: params.arguments.text}});
      return reply({content: [{type: 'text', text: 'done'}]});
  }
  if (id !== undefined) send({id, error: {code: -32601, message: `no ${method}`}});
});
