package reach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
)

// maxHTTPTools limits the tools of all --tool flags.
const maxHTTPTools = 100

// A requestTemplate is the JSON form of a [httptool.Template].
type requestTemplate struct {
	Name         string               `json:"name"`
	Title        string               `json:"title"`
	Description  string               `json:"description"`
	Method       string               `json:"method"`
	URL          string               `json:"url"`
	Header       map[string]string    `json:"header"`
	Body         json.RawMessage      `json:"body"`
	Text         string               `json:"text"`
	InputSchema  json.RawMessage      `json:"inputSchema"`
	OutputSchema json.RawMessage      `json:"outputSchema"`
	Annotations  *mcp.ToolAnnotations `json:"annotations"`
}

// httpTools returns the server of the request templates.
func httpTools(a *cli.App, o *APIShipping) (mcp.Handler, error) {
	options := httptool.Options{Base: o.Base, Logger: a.Logger()}
	var err error
	if options.Credentials, err = o.credentials(a.Place); err != nil {
		return nil, err
	}
	var templates []httptool.Template
	for _, text := range o.tools {
		some, err := readTemplates(a.Place, text)
		if err != nil {
			return nil, err
		}
		templates = append(templates, some...)
	}
	if n := len(templates); n == 0 || n > maxHTTPTools {
		return nil, cli.Usagef("http needs a tool, and has at most %d, got %d: junction serve http --tool '{\"name\": \"forecast\", \"url\": \"https://example.com/{city}\"}'", maxHTTPTools, n)
	}
	s, err := httptool.New("http", options, templates...)
	if err != nil {
		return nil, fmt.Errorf("--tool: %w", err)
	}
	a.Launch.AtEnd(s)
	return s, nil
}

// readTemplates parses a template or an array of them: text itself, or the file that it names.
func readTemplates(p place.Place, text string) (all []httptool.Template, err error) {
	from := "--tool"
	data := []byte(text)
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		from = "--tool " + text
		if data, err = filename.ReadAtMost(p.Path(text), launch.MaxKeyFile); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("expected a template in JSON, or a file with one: %w", err)
			}
			return nil, fmt.Errorf("--tool: %w", err)
		}
	}
	var templates []requestTemplate
	if data = []byte(strings.TrimSpace(string(data))); len(data) > 0 && data[0] == '[' {
		err = schema.Decode(data, &templates)
	} else {
		templates = make([]requestTemplate, 1)
		err = schema.Decode(data, &templates[0])
	}
	if err != nil {
		return nil, cli.Usagef("%s: %w", from, err)
	}
	for _, t := range templates {
		if t.Name == "" || t.URL == "" {
			return nil, cli.Usagef("%s: expected a template with name and url", from)
		}
		tool := mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations}
		all = append(all, httptool.Template{Tool: tool, Method: strings.ToUpper(t.Method), URL: t.URL, Header: t.Header, Body: t.Body, Text: t.Text})
	}
	return all, nil
}
