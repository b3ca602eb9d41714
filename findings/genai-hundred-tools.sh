#!/usr/bin/env bash
# @google/genai 3.3.0 (npm), its mcpToTool, with the client of @modelcontextprotocol/sdk 1.32.2.
# A server has 150 tools. Expected: the model is offered 150, on however many pages the server lists them, or an error.
# What happens: the reader asks for no further page once it has 100, and says nothing. The count depends on the size of
# the page: 150 of one page, 120 of pages of 60, 100 of pages of 50 or 10. The tools that are missing cannot be called
# either: a call of one gives an empty list, not an error.
# Specification 2025-11-25, server/utilities/pagination, "Pagination Model": the size of a page is the server's to
# choose, and there are more results as long as nextCursor is there; 2026-07-28 says the same.
# Junction: docs/bridge.md does not name it, no test does, and the script does not try it through Junction.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"type": "module", "private": true}' >package.json
npm install --silent --no-fund --no-audit @google/genai@3.3.0 @modelcontextprotocol/sdk@1.32.2

cat > server.mjs <<'E'
import { createInterface } from "node:readline";
const size = Number(process.argv[2]);
const all = Array.from({ length: 150 }, (_, i) => ({ name: `tool${i}`, inputSchema: { type: "object" } }));
for await (const line of createInterface({ input: process.stdin })) {
  const m = JSON.parse(line);
  if (m.id === undefined) continue;
  let result = {};
  if (m.method === "initialize")
    result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
  if (m.method === "tools/list") {
    const from = Number(m.params?.cursor ?? 0);
    result = { tools: all.slice(from, from + size) };
    if (from + size < all.length) result.nextCursor = String(from + size);
  }
  if (m.method === "tools/call") result = { content: [{ type: "text", text: m.params.name }] };
  console.log(JSON.stringify({ jsonrpc: "2.0", id: m.id, result }));
}
E
cat > client.mjs <<'E'
import { mcpToTool } from "@google/genai";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
for (const size of [150, 60, 50, 10]) {
  const client = new Client({ name: "c", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ["server.mjs", String(size)] }));
  const callable = mcpToTool(client);
  const offered = (await callable.tool()).functionDeclarations.length;
  const last = await callable.callTool([{ name: "tool149", args: {} }]);
  console.log(`pages of ${size}: ${offered} of 150 tools, a call of the last has ${last.length} answers`);
  await client.close();
}
E
node client.mjs | tee out
cat > expected <<'E'
pages of 150: 150 of 150 tools, a call of the last has 1 answers
pages of 60: 120 of 150 tools, a call of the last has 0 answers
pages of 50: 100 of 150 tools, a call of the last has 0 answers
pages of 10: 100 of 150 tools, a call of the last has 0 answers
E
cmp -s out expected || {
  echo "mcpToTool reads pages in another way now" >&2
  exit 1
}
