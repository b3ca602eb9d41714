#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2, and @modelcontextprotocol/server 2.4.0 with client 2.4.0 (npm): McpServer of both.
# A server registers resources, each with a fixed URI. Expected: what resources/list names, resources/read finds.
# What happens: the list has the URIs as they were registered, but a read looks for the URI as WHATWG's URL writes it.
# Where URL writes another one, the read of a resource that was just listed fails; its registration reports no error.
# Four such are valid in RFC 3986: a host without a path, "'" in the query of https, a file in the short form of RFC 8089,
# and one at localhost. Where the other one is registered, too, its text comes instead, as a success.
# Specification 2025-11-25, server/resources, "Resource": uri is the unique identifier of the resource, an RFC 3986 URI;
# 2026-07-28 says the same.
# Users: register `new URL(uri).href`. A client cannot help itself: the other spelling is not found either.
# Junction: docs/bridge.md does not name it, no test does, and the script does not try it through Junction.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"type": "module", "private": true}' >package.json
npm install --silent --no-fund --no-audit @modelcontextprotocol/sdk@1.32.2 \
  @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/client@2.4.0

cat > read.mjs <<'E'
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as Transport1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer as Server1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { InMemoryTransport as Transport2, McpServer as Server2 } from "@modelcontextprotocol/server";

async function read(version, Server, Client, Transport, ...uris) {
  const server = new Server({ name: "s", version: "1" });
  for (const uri of uris)
    server.registerResource(uri, uri, {}, async () => ({ contents: [{ uri, text: `text of ${uri}` }] }));
  const [there, here] = Transport.createLinkedPair();
  await server.connect(there);
  const client = new Client({ name: "c", version: "1" });
  await client.connect(here);
  for (const { uri } of (await client.listResources()).resources) {
    const tries = uris.length > 1 ? [uri] : [...new Set([uri, new URL(uri).href])];
    for (const tried of tries)
      await client.readResource({ uri: tried }).then(
        ({ contents }) => console.log(`${version} listed ${uri} read ${tried}: ${contents[0].text}`),
        ({ code }) => console.log(`${version} listed ${uri} read ${tried}: error ${code}`),
      );
  }
  await client.close();
}
for (const library of [["1", Server1, Client1, Transport1], ["2", Server2, Client2, Transport2]]) {
  for (const uri of ["notes://Example/a", "https://example.com", "https://example.com/?q=it's", "file:/a", "file://localhost/a"])
    await read(...library, uri);
  await read(...library, "https://example.com", "https://example.com/");
}
E
node read.mjs | tee out
cat > once <<'E'
listed notes://Example/a read notes://Example/a: text of notes://Example/a
listed https://example.com read https://example.com: error -32602
listed https://example.com read https://example.com/: error -32602
listed https://example.com/?q=it's read https://example.com/?q=it's: error -32602
listed https://example.com/?q=it's read https://example.com/?q=it%27s: error -32602
listed file:/a read file:/a: error -32602
listed file:/a read file:///a: error -32602
listed file://localhost/a read file://localhost/a: error -32602
listed file://localhost/a read file:///a: error -32602
listed https://example.com read https://example.com: text of https://example.com/
listed https://example.com/ read https://example.com/: text of https://example.com/
E
{ sed 's/^/1 /' once; sed 's/^/2 /' once; } >expected
cmp -s out expected || {
  echo "the TypeScript SDK finds resources in another way now" >&2
  exit 1
}
