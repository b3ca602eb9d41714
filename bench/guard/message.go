package main

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/guard"
)

// message is a JSON-RPC message with the members that contain texts.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result struct {
		Tools        []tool `json:"tools"`
		ServerInfo   any    `json:"serverInfo"`
		Instructions string `json:"instructions"`
		Contents     []any  `json:"contents"`
		Content      []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
}

// judgeMessage checks the content of a message in the same way as a host. It checks each
// definition, all texts of a result together, the parameters of a server's request, and the
// arguments of a call.
func judgeMessage(raw json.RawMessage) []guard.Finding {
	const server = "server"
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return []guard.Finding{{Rule: "malformed", Severity: guard.Warn}}
	}
	var catalogue guard.Catalogue
	if m.Method == "tools/call" {
		var call struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		_ = json.Unmarshal(m.Params, &call) // without arguments nothing leaves the host
		return new(guard.Flow).Ask(guard.Call{Server: server, Arguments: call.Arguments}).Secrets
	}
	if m.Method != "" {
		return catalogue.ScanRequest(server, m.Method, m.Params)
	}
	var found []guard.Finding
	for _, t := range m.Result.Tools {
		found = append(found, catalogue.ScanDefinition(t.definition(server))...)
	}
	info, _ := json.Marshal(m.Result.ServerInfo)
	found = append(found, catalogue.ScanDefinition(guard.Definition{Kind: guard.Instructions, Server: server, Text: m.Result.Instructions, Annotations: info})...)
	var texts []string
	for _, block := range m.Result.Content {
		texts = append(texts, block.Text)
	}
	found = append(found, catalogue.Scan(strings.Join(texts, "\n"), guard.Where{Part: guard.InResult, Server: server})...)
	return append(found, scanAll(m.Result.Contents, guard.InResource)...)
}

// scanAll scans all strings in a value.
func scanAll(v any, part guard.Part) (found []guard.Finding) {
	switch v := v.(type) {
	case string:
		return new(guard.Catalogue).Scan(v, guard.Where{Part: part, Server: "server"})
	case []any:
		for _, element := range v {
			found = append(found, scanAll(element, part)...)
		}
	case map[string]any:
		for _, value := range v {
			found = append(found, scanAll(value, part)...)
		}
	}
	return found
}
