// The views of the page, in the order of their links. The address of one is #/NAME, its key follows "g", and its texts begin with NAME; one
// more is a module, its texts in each file of words and a row here.
import * as approvals from './approvals.js';
import * as conversations from './conversations.js';
import * as inspector from './inspector.js';
import * as servers from './servers.js';
import * as traffic from './traffic.js';

export const views = [
  {name: 'traffic', key: 't', module: traffic},
  {name: 'servers', key: 's', module: servers},
  {name: 'approvals', key: 'a', module: approvals},
  {name: 'inspector', key: 'i', module: inspector},
  {name: 'conversations', key: 'c', module: conversations},
];
