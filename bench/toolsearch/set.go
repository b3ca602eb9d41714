package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/junction-mcp/junction/toolsearch"
)

// set holds the tools and queries of a folder.
type set struct {
	servers []string // in the order of the file
	about   map[string]string
	tools   map[string][]toolsearch.Tool // by server
	queries []query
}

// query is a request with the tools that answer it.
type query struct {
	ID       string     `json:"id"`
	Query    string     `json:"query"`
	Relevant []string   `json:"relevant"`
	Groups   [][]string `json:"groups"`
	Level    int        `json:"level"`
}

// The kinds of queries that no tool answers: in sets with levels and in sets without.
const (
	impossible = "level 5"
	noTool     = "no tool"
)

var singleOrMulti = regexp.MustCompile(`-([sm])\d+$`)

// kind returns the row that a query belongs to.
func (q *query) kind() string {
	if q.Level > 0 {
		return fmt.Sprintf("level %d", q.Level)
	}
	if len(q.needs()) == 0 {
		return noTool
	}
	switch m := singleOrMulti.FindStringSubmatch(q.ID); {
	case m == nil:
		return "all"
	case m[1] == "s":
		return "single"
	default:
		return "multi"
	}
}

// needs returns the groups of a query.
func (q *query) needs() [][]string {
	if len(q.Groups) > 0 {
		return q.Groups
	}
	out := make([][]string, len(q.Relevant))
	for i, id := range q.Relevant {
		out[i] = []string{id}
	}
	return out
}

// readSet reads a folder. If most is not 0, it reads the first most tools and the queries that they
// can answer. Otherwise it reads everything, and a need without a tool counts as not found.
func readSet(dir string, most int) (*set, error) {
	s := &set{about: make(map[string]string), tools: make(map[string][]toolsearch.Tool)}
	known := make(map[string]bool)
	err := readLines(filepath.Join(dir, "tools.jsonl"), func(t struct {
		ID, Server, Name, Title, Description string
		Schema                               json.RawMessage `json:"input_schema"`
	}) {
		if most > 0 && len(known) >= most {
			return
		}
		if s.tools[t.Server] == nil {
			s.servers = append(s.servers, t.Server)
		}
		known[t.ID] = true
		s.tools[t.Server] = append(s.tools[t.Server], toolsearch.Tool{ID: t.ID, Server: t.Server, Name: t.Name, Title: t.Title, Description: t.Description, Schema: t.Schema})
	})
	if err != nil {
		return nil, err
	}
	err = readLines(filepath.Join(dir, "queries.jsonl"), func(q query) {
		if most == 0 || q.answered(known) {
			s.queries = append(s.queries, q)
		}
	})
	if err != nil {
		return nil, err
	}
	err = readLines(filepath.Join(dir, "servers.jsonl"), func(v struct{ Server, Description string }) {
		s.about[v.Server] = v.Description
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// answered reports whether each need of q has a tool in known.
func (q *query) answered(known map[string]bool) bool {
	return !slices.ContainsFunc(q.needs(), func(group []string) bool {
		return !slices.ContainsFunc(group, func(id string) bool { return known[id] })
	})
}

func readLines[T any](file string, f func(T)) error {
	r, err := os.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
		f(v)
	}
	return lines.Err()
}
