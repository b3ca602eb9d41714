package main

import (
	"bufio"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/junction-mcp/junction/guard"
)

// A row has the fields of all kinds of rows.
type row struct {
	ID          string          `json:"id"`
	Style       string          `json:"style"`
	Bucket      string          `json:"bucket"`
	Category    string          `json:"category"`
	Label       string          `json:"label"`
	Server      string          `json:"server"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`

	Message  json.RawMessage `json:"message"`
	Expected string          `json:"expected"`
	Result   json.RawMessage `json:"result_template"`
	Tool     *tool           `json:"tool"`
	Peers    []peer          `json:"peers"`

	Before   json.RawMessage `json:"install_time_definition"`
	After    json.RawMessage `json:"post_install_definition"`
	ToolName string          `json:"tool_name"`
	Owner    string          `json:"server_name"`
}

// tool is a definition in the form that servers send.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Icons        json.RawMessage `json:"icons"`
}

type peer struct {
	Server string `json:"server"`
	Tool   tool   `json:"tool"`
}

func (t tool) definition(server string) guard.Definition {
	return guard.Definition{Kind: guard.Tool, Server: server, Name: t.Name, Title: t.Title, Description: t.Description,
		Schema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations, Icons: t.Icons}
}

// style returns the style under which a row is counted.
func (r row) style() string {
	for _, s := range []string{r.Style, r.Bucket, r.Label, r.Category} {
		if s != "" {
			if s == r.Label && r.Category != "" && r.Category != r.Label {
				return s + " " + r.Category
			}
			return s
		}
	}
	return "all"
}

// isIn reports whether a row is in a half. Half 0 contains all rows.
func (r row) isIn(half int) bool {
	sum := sha1.Sum([]byte(r.ID))
	return half == 0 || int(sum[3]&1)+1 == half
}

// readRows reads the rows in a half of a file. Its errors name lines but do not quote them.
func readRows(path string, half int) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	var rows []row
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: not a row of a known form", path, n)
		}
		if r.isIn(half) {
			rows = append(rows, r)
		}
	}
	return rows, lines.Err()
}
