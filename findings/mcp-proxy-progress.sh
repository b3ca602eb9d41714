#!/usr/bin/env bash
# mcp-proxy 0.13.0 with mcp 1.30.0 (PyPI), a bridge, between server and client of @modelcontextprotocol/sdk 1.32.2 (npm).
# A tool takes 3.6 s, with progress and a log message every 0.6 s. The client waits 2 s for a sign of life
# (resetTimeoutOnProgress), and asks for log messages. Expected: at both addresses of the bridge, /mcp and /sse, what
# happens without it.
# What happens: the bridge passes progress on, and it arrives at /sse, the transport that is deprecated. At /mcp, which
# can carry it too, the bridge answers with a JSON body only, which has no room for it: no progress arrives, and the call
# times out that works at /sse. Log messages arrive at neither, though `logging` is declared and the level is accepted.
# Specification 2025-11-25, basic/transports, "Sending Messages to the Server", point 6 (notifications go before the
# response, in a stream), basic/utilities/progress, basic/lifecycle, "Timeouts", and server/utilities/logging.
# Users: take /sse for long calls, and read the log where the server writes it.
# Junction: docs/bridge.md does not name it, no test does, and the script does not try it through Junction.
set -eu
dir=$(mktemp -d)
bridge=
trap '[ -z "$bridge" ] || kill "$bridge"; rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q mcp-proxy==0.13.0 mcp==1.30.0
echo '{"type": "module", "private": true}' >package.json
npm install --silent --no-fund --no-audit @modelcontextprotocol/sdk@1.32.2

cat > server.mjs <<'E'
import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
const server = new McpServer({ name: "s", version: "1" }, { capabilities: { logging: {} } });
server.registerTool("work", {}, async ({ _meta: { progressToken }, sendNotification }) => {
  for (let progress = 1; progress <= 5; progress++) {
    await sleep(600);
    await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 5 } });
    await sendNotification({ method: "notifications/message", params: { level: "info", data: `step ${progress}` } });
  }
  await sleep(600);
  return { content: [{ type: "text", text: "done" }] };
});
await server.connect(new StdioServerTransport());
E
cat > client.mjs <<'E'
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
const bridge = process.argv[2];
for (const [name, transport] of [
  ["direct", new StdioClientTransport({ command: process.execPath, args: ["server.mjs"] })],
  ["/sse", new SSEClientTransport(new URL("/sse", bridge))],
  ["/mcp", new StreamableHTTPClientTransport(new URL("/mcp", bridge))],
]) {
  const client = new Client({ name: "c", version: "1" });
  let progress = 0, logged = 0;
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => { logged++; });
  await client.connect(transport);
  const level = await client.setLoggingLevel("debug").then(() => "accepted", (e) => `refused (${e.code})`);
  const options = { timeout: 2000, resetTimeoutOnProgress: true, onprogress: () => { progress++; } };
  const end = await client.callTool({ name: "work" }, undefined, options).then((r) => r.content[0].text, (e) => e.message);
  console.log(`${name}: level ${level}, progress ${progress} times, ${logged} log messages, ${end}`);
  await client.close();
}
E
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/mcp-proxy --port "$port" -- node server.mjs >bridge.log 2>&1 &
bridge=$!
for _ in $(seq 60); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  sleep 0.5
done
node client.mjs "http://127.0.0.1:$port" | tee out
cat > expected <<'E'
direct: level accepted, progress 5 times, 5 log messages, done
/sse: level accepted, progress 5 times, 0 log messages, done
/mcp: level accepted, progress 0 times, 0 log messages, MCP error -32001: Request timed out
E
cmp -s out expected || {
  cat bridge.log >&2
  echo "mcp-proxy passes on progress or log messages in another way now" >&2
  exit 1
}
