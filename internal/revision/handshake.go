package revision

import (
	"crypto/rand"
	"encoding/json"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Handshake turns what a Handler says of itself (server/discover: its own
// members and its _meta) into the result of initialize.
func Handshake(r *Revision, discovered, meta json.RawMessage) json.RawMessage {
	out := jsonrpc.AppendString([]byte(`{"protocolVersion":`), r.Name)
	out = appendOr(append(out, `,"capabilities":`...), jsonrpc.Get(discovered, "capabilities"), `{}`)
	out = appendOr(append(out, `,"serverInfo":`...), jsonrpc.Get(meta, MetaServerInfo), `{"name":"unknown","version":"0"}`)
	if instructions := jsonrpc.Get(discovered, "instructions"); instructions != nil {
		out = append(append(out, `,"instructions":`...), instructions...)
	}
	return append(out, '}')
}

// Discovery turns the result of initialize into what server/discover answers:
// its own members and its _meta.
func Discovery(initialized json.RawMessage) (discovered, meta json.RawMessage) {
	out := []byte(`{"supportedVersions":[`)
	for i, name := range Modern() {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonrpc.AppendString(out, name)
	}
	out = appendOr(append(out, `],"capabilities":`...), jsonrpc.Get(initialized, "capabilities"), `{}`)
	if instructions := jsonrpc.Get(initialized, "instructions"); instructions != nil {
		out = append(append(out, `,"instructions":`...), instructions...)
	}
	if info := jsonrpc.Get(initialized, "serverInfo"); len(info) > 0 && info[0] == '{' {
		meta = append(append([]byte(`{"`+MetaServerInfo+`":`), info...), '}')
	}
	return append(out, '}'), meta
}

func appendOr(dst, value []byte, missing string) []byte {
	if len(value) == 0 || value[0] != '{' {
		return append(dst, missing...)
	}
	return append(dst, value...)
}

// Question returns the parameters of a question to a client of the revision.
func (r *Revision) Question(method string, params json.RawMessage) json.RawMessage {
	if method != "elicitation/create" || r.Modern {
		return params
	}
	mode := string(jsonrpc.Get(params, "mode"))
	switch {
	case !r.ElicitationModes && mode != "":
		return jsonrpc.Without(params, "mode")
	case mode == `"url"` && jsonrpc.Get(params, "elicitationId") == nil:
		return jsonrpc.With(params, "elicitationId", jsonrpc.AppendString(nil, rand.Text()))
	}
	return params
}
