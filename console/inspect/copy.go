package inspect

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

// An Entry describes a server in the way of a configuration file. It has no secrets: it has the
// names of variables and headers, without their values.
type Entry struct {
	Name string
	// Configured is set if the commands of junction know the server by Name. They need the files of
	// Config for it, if there are any.
	Configured bool
	Config     []string
	Type       string // "sse" or empty
	Command    string
	Args       []string
	Env        []string // names of environment variables
	Dir        string
	URL        string
	Headers    []string // names of headers
}

// A copyForms has a request in forms for other programs. If a form is not possible, it is empty and
// Notes has the reason.
type copyForms struct {
	Junction string          `json:"junction,omitempty"`
	Curl     string          `json:"curl,omitempty"`
	Entry    json.RawMessage `json:"entry,omitempty"`
	Notes    []string        `json:"notes"`
}

func (c *connection) copies(r *http.Request) (any, error) {
	q, err := c.numbered(r)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	var entry Entry
	older := false
	if a := c.attempt; a != nil && a.opened != nil {
		entry = a.opened.Entry
		older = a.transport() == "http+sse"
	}
	c.mu.Unlock()
	out := copyForms{Notes: []string{}}
	now := q.copy(c)
	note := func(text string) { out.Notes = append(out.Notes, text) }
	if redact.URL(entry.URL) != entry.URL || strings.Contains(entry.URL, redact.Hidden) {
		note(redact.Hidden + " replaces possible secrets in the URL")
	}
	if out.Junction = entry.command(&now, c.server.Revision); out.Junction == "" {
		note("the junction command cannot send this request")
	}
	switch {
	case entry.URL == "":
		note("curl is for servers with a URL")
	case older:
		note("with HTTP+SSE the response comes on another stream than the request's, which curl cannot read")
	case now.header == nil || now.message == nil:
		note("the request did not go over the wire as one message, so curl cannot repeat it")
	default:
		out.Curl = now.curl()
		if now.header.Get("Mcp-Session-Id") != "" {
			note("MCP_SESSION_ID is the Mcp-Session-Id in the server's response to initialize")
		}
	}
	out.Entry, err = json.MarshalIndent(entry.servers(), "", "  ")
	return out, err
}

// subcommand returns the subcommand of junction that makes a request, and its arguments after the
// server.
func subcommand(q *pageRequest) (name string, words []string) {
	text := func(member string) string {
		s, _ := jsonrpc.Unquote(jsonrpc.Get(q.Params, member))
		return s
	}
	switch q.Method {
	case "ping":
		return "server ping", nil
	case "tools/list":
		return "list tools", nil
	case "resources/list":
		return "list resources", nil
	case "resources/templates/list":
		return "list templates", nil
	case "prompts/list":
		return "list prompts", nil
	case "resources/read":
		return "get resource", []string{text("uri")}
	case "tools/call":
		arguments := jsonrpc.Get(q.Params, "arguments")
		if arguments == nil {
			arguments = json.RawMessage(`{}`)
		}
		return "call", []string{text("name"), "--args", string(arguments)}
	case "prompts/get":
		if all, fit := pairs(jsonrpc.Get(q.Params, "arguments"), true); fit {
			return "get prompt", append([]string{text("name")}, all...)
		}
	case "completion/complete":
		ref, argument := jsonrpc.Get(q.Params, "ref"), jsonrpc.Get(q.Params, "argument")
		of, _ := jsonrpc.Unquote(jsonrpc.Get(ref, "name"))
		if uri, is := jsonrpc.Unquote(jsonrpc.Get(ref, "uri")); is {
			of = uri
		}
		name, _ := jsonrpc.Unquote(jsonrpc.Get(argument, "name"))
		value, _ := jsonrpc.Unquote(jsonrpc.Get(argument, "value"))
		if all, fit := pairs(jsonrpc.Get(jsonrpc.Get(q.Params, "context"), "arguments"), false); fit && name != "" && !strings.Contains(name, "=") {
			return "get completion", append([]string{of, name + "=" + value}, all...)
		}
	}
	return "", nil
}

// pairs returns the members of an object as NAME=VALUE, and reports whether all can have this form.
// The parameter files is set if the command interprets special characters, such as @ before the
// path of a file.
func pairs(object json.RawMessage, files bool) (all []string, fit bool) {
	fit = true
	special := "="
	if files {
		special = "=:.[]{"
	}
	jsonrpc.EachMember(object, func(name, value []byte) bool {
		key, _ := jsonrpc.Unquote(name)
		s, is := jsonrpc.Unquote(value)
		fit = fit && is && key != "" && !strings.ContainsAny(key, special)
		if files && strings.HasPrefix(s, "@") {
			s = "@" + s // a single @ would mean a file
		}
		all = append(all, key+"="+s)
		return fit
	})
	return all, fit
}

// command returns a command line of junction, for a POSIX shell, that makes a request. It returns
// "" if there is none.
func (e Entry) command(q *pageRequest, revision string) string {
	name, words := subcommand(q)
	if name == "" {
		return ""
	}
	all := []string{"junction", name}
	target := redact.URL(e.URL)
	switch {
	case e.Configured:
		target = e.Name
	case e.Command != "": // the command follows at the end
		target = ""
	}
	if strings.HasPrefix(target, "-") {
		return "" // it would be taken as a flag
	}
	if target != "" {
		all = append(all, quote(target))
	}
	for i, word := range words {
		flag := name == "call" && i == 1 // the word --args
		if strings.HasPrefix(word, "-") && !flag || strings.ContainsRune(word, 0) || word == "" && i == 0 {
			return "" // it would be taken as a flag, cannot be an argument, or lacks the name
		}
		all = append(all, quote(word))
	}
	if revision != "" {
		all = append(all, "--revision", quote(revision))
	}
	for _, file := range e.Config {
		all = append(all, "--config", quote(file))
	}
	if e.Configured {
		return strings.Join(all, " ")
	}
	for _, header := range e.Headers {
		all = append(all, "--header", quote(header+": ")+fromVariable(header))
	}
	if e.Command == "" {
		return strings.Join(all, " ")
	}
	for _, variable := range e.Env {
		all = append(all, "--env", quote(variable+"=")+fromVariable(variable))
	}
	all = append(all, "--", quote(e.Command))
	for _, arg := range e.Args {
		if strings.ContainsRune(arg, 0) {
			return ""
		}
		all = append(all, quote(arg))
	}
	line := strings.Join(all, " ")
	if e.Dir != "" {
		line = "(cd -- " + quote(e.Dir) + " && " + line + ")"
	}
	return line
}

// curl returns a command line of curl that sends the same request.
func (a *pageRequest) curl() string {
	all := []string{"curl", "-gsS", "-N", "--url", quote(redact.URL(a.url))}
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		key := strings.ToLower(name)
		switch {
		case slices.Contains([]string{"accept-encoding", "content-length", "user-agent", "traceparent", "tracestate"}, key):
		case redact.IsPlainHeader(name), key == "mcp-name":
			all = append(all, "-H", quote(name+": "+strings.Join(a.header[name], ", ")))
		default:
			all = append(all, "-H", quote(name+": ")+fromVariable(name))
		}
	}
	return strings.Join(append(all, "--data-raw", quote(string(a.message))), " ")
}

// servers returns the entry in the form of a file with mcpServers.
func (e Entry) servers() any {
	name := e.Name
	if u, err := url.Parse(e.URL); !e.Configured && e.URL != "" && err == nil {
		name = u.Hostname()
	} else if !e.Configured && e.Command != "" {
		name = strings.TrimSuffix(filepath.Base(e.Command), ".exe")
	}
	variables := func(names []string) map[string]string {
		of := map[string]string{}
		for _, name := range names {
			of[name] = "${" + variable(name) + "}"
		}
		return of
	}
	entry := map[string]any{}
	if e.Command != "" {
		entry["command"], entry["args"] = e.Command, append([]string{}, e.Args...)
	}
	if e.Dir != "" {
		entry["cwd"] = e.Dir
	}
	if len(e.Env) > 0 {
		entry["env"] = variables(e.Env)
	}
	if e.URL != "" {
		entry["url"] = redact.URL(e.URL)
		if entry["type"] = "http"; e.Type != "" {
			entry["type"] = e.Type
		}
	}
	if len(e.Headers) > 0 {
		entry["headers"] = variables(e.Headers)
	}
	return map[string]any{"mcpServers": map[string]any{name: entry}}
}

var (
	plainWord = regexp.MustCompile(`^[\w./:@%+=,-]+$`)
	notName   = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// quote returns a word in quotes if a POSIX shell would not take it literally.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// variable returns the name of the environment variable that stands for the value of a header or of
// another variable.
func variable(name string) string {
	name = notName.ReplaceAllString(name, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return strings.ToUpper(name)
}

func fromVariable(name string) string { return `"$` + variable(name) + `"` }
