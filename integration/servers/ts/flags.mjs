// The flags of the TypeScript bridge servers: --stdio (default), --http ADDR, --sse ADDR,
// --era E where the SDK has two, --capabilities, and of ts-v1 --shapes.
export function parseFlags(argv) {
  const flags = {};
  for (let i = 0; i < argv.length; i++) {
    const name = argv[i].replace(/^--/, '');
    if (['http', 'sse', 'era'].includes(name)) flags[name] = argv[++i];
    else if (['stdio', 'capabilities', 'shapes'].includes(name)) flags[name] = true;
    else throw new Error(`unknown flag ${argv[i]}`);
  }
  return flags;
}

export function listen(http, address, path) {
  const [host, port] = address.split(':');
  http.listen(Number(port), host, () => {
    process.stdout.write(`listening http://${host}:${http.address().port}${path}\n`);
  });
}

// sleep resolves with true after ms, or with false as soon as the signal fires.
export function sleep(ms, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const timer = setTimeout(() => resolve(true), ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve(false);
    });
  });
}

export function text(s) {
  return { content: [{ type: 'text', text: s }] };
}

// question is the form that asks for one string.
export function question(field, message) {
  return {
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  };
}

export function reply(field, answer) {
  switch (answer.action) {
    case 'accept':
      return `${field}=${answer.content?.[field]}`;
    case 'decline':
      return `${field} declined`;
    default:
      return `${field} cancelled`;
  }
}
