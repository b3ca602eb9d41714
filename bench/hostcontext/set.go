package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// set holds the tools and queries of a folder.
type set struct {
	servers []host.Server
	tools   int
	refused int // number of tools whose schema is not valid JSON Schema
	queries []string
}

// readSet reads the first tools of a folder, grouped into servers, and the first queries. 0 means
// all.
func readSet(dir string, tools, queries int) (*set, error) {
	s := new(set)
	at := map[string]*mcp.Server{}
	err := readLines(filepath.Join(dir, "tools.jsonl"), func(line []byte) error {
		if tools > 0 && s.tools == tools {
			return nil
		}
		return s.add(line, at)
	})
	if err != nil {
		return nil, err
	}
	err = readLines(filepath.Join(dir, "queries.jsonl"), func(line []byte) error {
		var q struct{ Query string }
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if queries == 0 || len(s.queries) < queries {
			s.queries = append(s.queries, q.Query)
		}
		return nil
	})
	return s, err
}

// add adds a tool to its server.
func (s *set) add(line []byte, at map[string]*mcp.Server) error {
	var t struct {
		Server, Name, Title, Description string
		Schema                           json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal(line, &t); err != nil {
		return err
	}
	if at[t.Server] == nil {
		at[t.Server] = mcp.NewServer(t.Server, "1.0")
		s.servers = append(s.servers, host.Server{Name: t.Server, Handler: at[t.Server], Trusted: true})
	}
	if len(t.Schema) == 0 || string(t.Schema) == "null" {
		t.Schema = json.RawMessage(`{"type":"object"}`)
	}
	err := at[t.Server].SetTool(mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema}, nothing)
	if err != nil {
		s.refused++
		return nil // its schema is invalid, so package mcp refuses it
	}
	s.tools++
	return nil
}

func nothing(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
}

func readLines(path string, each func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if err := each(lines.Bytes()); err != nil {
			return fmt.Errorf("%s: line %d: %w", path, n, err)
		}
	}
	return lines.Err()
}
