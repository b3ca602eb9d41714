#!/usr/bin/env bash
# ai 7.0.173 with @ai-sdk/mcp 2.0.99 (npm), a client of servers.
# A server has four tools: one with named parameters; one that takes labels, any name with a text; one that takes an id
# or a name (oneOf); one whose parameters are in $defs. Expected: the model is offered these schemas.
# What happens: tools() sets "properties": {} where the schema has none, and "additionalProperties": false everywhere,
# so labels is offered as a tool that takes nothing, and no arguments at all fit the schemas of the last two. A model
# whose output is held to the schema cannot give labels one, nor call the last two. No error or warning is reported, and
# arguments are not checked: a model that disregards the schema gets through.
# Specification 2026-07-28, schema, "Tool", on inputSchema: any keyword of JSON Schema 2020-12 may stand next to type,
# with oneOf and $ref among those named; 2025-11-25, basic, "JSON Schema Usage".
# Users: put alternatives and free names one level down, in a property of their own, or give schemas to tools().
# Junction: docs/bridge.md does not name it, no test does, and the script does not try it through Junction.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"type": "module", "private": true}' >package.json
npm install --silent --no-fund --no-audit ai@7.0.173 @ai-sdk/mcp@2.0.99 ajv@8.17.1

cat > server.mjs <<'E'
import { createInterface } from "node:readline";
const text = { type: "string" };
export const schemas = {
  named: { type: "object", properties: { id: text }, required: ["id"] },
  labels: { type: "object", additionalProperties: text },
  either: { type: "object", oneOf: ["id", "name"].map((k) => ({ properties: { [k]: text }, required: [k] })) },
  defs: { type: "object", $ref: "#/$defs/id", $defs: { id: { properties: { id: text }, required: ["id"] } } },
};
if (process.argv[2] === "serve")
  for await (const line of createInterface({ input: process.stdin })) {
    const m = JSON.parse(line);
    if (m.id === undefined) continue;
    let result = {};
    if (m.method === "initialize")
      result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
    if (m.method === "tools/list")
      result = { tools: Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema })) };
    if (m.method === "tools/call") result = { content: [{ type: "text", text: JSON.stringify(m.params.arguments) }] };
    console.log(JSON.stringify({ jsonrpc: "2.0", id: m.id, result }));
  }
E
cat > client.mjs <<'E'
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import Ajv from "ajv/dist/2020.js";
import { schemas } from "./server.mjs";
const transport = new Experimental_StdioMCPTransport({ command: process.execPath, args: ["server.mjs", "serve"] });
const client = await createMCPClient({ transport });
let offered;
const model = new MockLanguageModelV4({
  doGenerate: async ({ tools }) => {
    offered = tools;
    const call = { type: "tool-call", toolCallId: "1", toolName: "either", input: '{"id": "x"}' };
    return { content: [call], finishReason: { unified: "tool-calls" }, usage: { inputTokens: {}, outputTokens: {} }, warnings: [] };
  },
});
const { toolResults } = await generateText({ model, tools: await client.tools(), prompt: "go" });
const verdict = (schema, value) => (new Ajv({ strict: false }).validate(schema, value) ? "right" : "wrong");
for (const { name, inputSchema } of offered)
  for (const value of [{ id: "x" }, {}])
    console.log(name, JSON.stringify(value), "server:", verdict(schemas[name], value), "model:", verdict(inputSchema, value));
console.log("offered for labels:", JSON.stringify(offered.find((t) => t.name === "labels").inputSchema));
console.log("the call of either gave:", toolResults[0].output.content[0].text);
await client.close();
E
node client.mjs | tee out
cat > expected <<'E'
named {"id":"x"} server: right model: right
named {} server: wrong model: wrong
labels {"id":"x"} server: right model: wrong
labels {} server: right model: right
either {"id":"x"} server: right model: wrong
either {} server: wrong model: wrong
defs {"id":"x"} server: right model: wrong
defs {} server: wrong model: wrong
offered for labels: {"type":"object","additionalProperties":false,"properties":{}}
the call of either gave: {"id":"x"}
E
cmp -s out expected || {
  echo "the AI SDK offers schemas in another way now" >&2
  exit 1
}
