#!/usr/bin/env bash
# github.com/modelcontextprotocol/go-sdk 1.8.0 (Go), a server, meets two clients of npm: @modelcontextprotocol/client 2.4.0,
# which speaks 2026-07-28, and @modelcontextprotocol/sdk 1.32.2, which speaks 2025-11-25.
# A tool asks the user two questions, one after the other, and then books seats.
# Expected: both clients are asked twice and get "booked", or the older one gets an error. The SDK's docs/server.md says
# that one handler serves old and new clients without a change.
# What happens: the server puts the first question to the older client and calls the handler once more with the answer.
# It sends the result of that second call unread. So the second question becomes an empty success. The user has answered,
# nothing is booked, isError is absent, and the server logs no warning. The question itself is in "inputRequests", a
# member that 2025-11-25 does not define. (A prompt and a resource that ask twice end in an error.)
# The code is serverMultiRoundTripMiddleware in mcp/mrtr.go. By their source, the servers of the TypeScript SDK 2.4.0 and
# mcp-go 1.2.1 ask older clients up to 8 and 10 times, and then report an error.
# Specification 2026-07-28, basic/patterns/mrtr, "Server Requirements (Basic Workflow)", last point: a server may ask on
# several attempts at the same request. 2025-11-25, server/tools, "Error Handling": a tool reports failure with isError.
# Users: ask all questions in one round.
# Junction: remedy. `junction up` speaks 2026-07-28 to this server and asks the older client itself (tried by hand).
# `junction proxy` on standard input and output reports the failure and changes to 2026-07-28: see docs/bridge.md, "Which
# revision is spoken", and gateway/eras/server_test.go ("input requests as a result").
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"type": "module", "private": true}' >package.json
npm install --silent --no-fund --no-audit @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0

cat > go.mod <<'E'
module findings

go 1.25.0

require github.com/modelcontextprotocol/go-sdk v1.8.0
E
cat > main.go <<'E'
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{Logger: logger})
	schema := map[string]any{"type": "object", "properties": map[string]any{"answer": map[string]any{"type": "string"}}}
	questions := []string{"How many seats?", "Seats 4 and 5?"}
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		answered := len(r.Params.RequestState) // one letter for each
		if answered == len(questions) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "booked"}}}, nil, nil
		}
		question := &mcp.ElicitParams{Message: questions[answered], RequestedSchema: schema}
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{fmt.Sprint(answered): question},
			RequestState:  r.Params.RequestState + "x",
		}, nil, nil
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
E
cat > client.mjs <<'E'
import { Client as NewClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const self = { name: "c", version: "1" }, capabilities = { elicitation: { form: {} } };
for (const [revision, client, transport, elicit] of [
  ["2026-07-28", new NewClient(self, { capabilities, versionNegotiation: { mode: "auto" } }), NewTransport, "elicitation/create"],
  ["2025-11-25", new OldClient(self, { capabilities }), OldTransport, ElicitRequestSchema],
]) {
  client.setRequestHandler(elicit, async ({ params }) => {
    console.log(`${revision}: the user is asked: ${params.message}`);
    return { action: "accept", content: { answer: "yes" } };
  });
  await client.connect(new transport({ command: "./server" }));
  const { content, isError, inputRequests } = await client.callTool({ name: "book" });
  console.log(`${revision}: isError ${isError}, content ${JSON.stringify(content)}`);
  if (inputRequests) console.log(`${revision}: the result has inputRequests: ${inputRequests[1].params.message}`);
  await client.close();
}
E
go mod tidy 2>log && go build -o server . 2>>log || cat log >&2
node client.mjs 2>log | tee out || true
cat > expected <<'E'
2026-07-28: the user is asked: How many seats?
2026-07-28: the user is asked: Seats 4 and 5?
2026-07-28: isError undefined, content [{"type":"text","text":"booked"}]
2025-11-25: the user is asked: How many seats?
2025-11-25: isError undefined, content []
2025-11-25: the result has inputRequests: Seats 4 and 5?
E
cmp -s out expected && [ ! -s log ] || {
  cat log >&2
  echo "the Go SDK treats a second question in another way now" >&2
  exit 1
}
