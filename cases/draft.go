package cases

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/recording"
	"go.yaml.in/yaml/v3"
)

// exactSize is the largest size in bytes of a result that a draft contains. A larger result becomes
// a snapshot.
const exactSize = 500

// Draft returns a file of cases made from a recording. It has a case for each request to a server,
// with the recorded result. source is the path of the recording relative to the new file. server
// names one of the recorded servers; it may be "" if there is only one.
func Draft(r *recording.Recording, source, server string) ([]byte, error) {
	servers := r.Servers()
	switch {
	case len(servers) == 0:
		return nil, fmt.Errorf("the recording has no request")
	case server == "" && len(servers) > 1:
		return nil, fmt.Errorf("the recording has several servers: name one of %q by --server", servers)
	case server == "":
		server = servers[0]
	case !slices.Contains(servers, server):
		return nil, fmt.Errorf("the recording has no server %q; it has %q", server, servers)
	}
	d := &draft{taken: map[string]int{}, list: &yaml.Node{Kind: yaml.SequenceNode}}
	var declared []any // capabilities of all clients, because the lists of a server can depend on them
	for _, e := range r.Exchanges() {
		if e.Server != server {
			continue
		}
		for _, capability := range e.Capabilities {
			if !slices.Contains(declared, any(capability)) {
				declared = append(declared, capability)
			}
		}
		if e.Result != nil || e.Err != nil {
			d.add(&e)
		}
	}
	if len(d.list.Content) == 0 {
		return nil, fmt.Errorf("the recording has no request of which a case can be made")
	}
	from := mapping("recording", source)
	if len(servers) > 1 {
		from = mapping("recording", source, "recorded", server)
	}
	file := mapping("server", from)
	if len(declared) > 0 {
		file.Content = append(file.Content, text("capabilities"), node(declared))
	}
	file.Content = append(file.Content, text("cases"), d.list)
	file.HeadComment = "The first draft, made from a recording. To test the server itself, name it here, such as\n" +
		"  server: NAME\n  server: {command: [node, build/index.js]}\n" +
		"Snapshots are written by junction test --update; mask names the values that differ each time."
	for _, name := range d.omitted {
		file.HeadComment += "\nLeft out, because it contains text that looks like a placeholder: " + name
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(file)
	return b.Bytes(), err
}

// A draft builds a file of cases.
type draft struct {
	taken   map[string]int // number of cases with the same file name
	list    *yaml.Node
	omitted []string
}

// add adds a case for an exchange, if a case can make such a request.
func (d *draft) add(e *recording.Exchange) {
	params, err := decode(e.Params)
	if err != nil {
		return
	}
	object, _ := params.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	delete(object, "_meta")
	name, _ := object["name"].(string)
	uri, _ := object["uri"].(string)
	cursor := object["cursor"]
	var request []any // members of the case
	title := ""
	switch e.Method {
	case "server/discover", "subscriptions/listen", "ping":
		return
	case "tools/call":
		title, request = "tool "+name, []any{"tool", name}
	case "prompts/get":
		title, request = "prompt "+name, []any{"prompt", name}
	case "resources/read":
		title, request = "read "+uri, []any{"read", uri}
	}
	if request == nil || request[1] == "" {
		title, request = e.Method, []any{"request", e.Method, "params", object}
		if m := revision.MethodNamed(e.Method); m.Key != "" && m.Core {
			title, request = "list "+m.Member, []any{"list", m.Member}
		}
	}
	if arguments, ok := object["arguments"].(map[string]any); ok && len(request) == 2 && name != "" {
		request = append(request, "arguments", arguments)
	}
	if request[0] == "list" && cursor != nil {
		return // the case for the first page reads all pages
	}
	if placeholder.MatchString(short(object)) || placeholder.MatchString(title) {
		d.omitted = append(d.omitted, plaintext.Line(title, 200))
		return
	}
	one := mapping(append([]any{"case", d.name(title)}, request...)...)
	if a := replied(e); a != nil {
		one.Content = append(one.Content, text("answers"), a)
	}
	one.Content = append(one.Content, text("expect"), expected(e))
	d.list.Content = append(d.list.Content, one)
}

// name returns a name for a case that no other case has. The file name of its snapshots, which uses
// only the beginning, is unique, too.
func (d *draft) name(title string) string {
	name := plaintext.Line(title, 200)
	first, begin := slug(name), cut(name, maxSlug-len(" (1000000)"))
	for d.taken[slug(name)] > 0 {
		d.taken[first]++
		name = fmt.Sprintf("%s (%d)", begin, d.taken[first])
	}
	d.taken[slug(name)]++
	return name
}

// expected returns the expectation that an exchange fulfills.
func expected(e *recording.Exchange) *yaml.Node {
	if e.Err != nil {
		m := mapping("code", decoded(e.Err.Code))
		if !placeholder.MatchString(e.Err.Message) {
			m.Content = append(m.Content, text("message"), text(e.Err.Message))
		}
		return mapping("error", m)
	}
	raw, err := e.Result.Encoded()
	if err != nil {
		return text("snapshot")
	}
	value, err := decode(raw)
	if err != nil {
		return text("snapshot")
	}
	expect := mapping()
	if failed, _ := at(value, []string{"isError"}); failed == true {
		expect = mapping("isError", true)
	}
	object, _ := value.(map[string]any)
	switch {
	case len(raw) > exactSize || placeholder.Match(raw) || strings.HasSuffix(e.Method, "/list"):
		expect.Content = append(expect.Content, text("snapshot"), node(true))
	case e.Method == "tools/call" && object["structuredContent"] != nil:
		expect.Content = append(expect.Content, text("structured"), mapping("equals", object["structuredContent"]))
	case e.Method == "tools/call" && onlyText(object):
		expect.Content = append(expect.Content, text("text"), text(textOf(&step{method: e.Method}, value)))
	default:
		expect.Content = append(expect.Content, text("result"), mapping("equals", value))
	}
	notifications := &yaml.Node{Kind: yaml.SequenceNode}
	for _, n := range e.Notifications {
		kind := map[string]string{"notifications/progress": kindProgress, "notifications/message": kindLog}[n.Method]
		if kind == kindLog { // texts of log messages often contain times
			notifications.Content = append(notifications.Content, mapping(kind, mapping("at", mapping("/level", level(n)))))
		} else if kind != "" {
			notifications.Content = append(notifications.Content, mapping(kind, nil))
		}
	}
	if len(notifications.Content) > 0 && len(notifications.Content) <= 20 {
		expect.Content = append(expect.Content, text("notifications"), notifications)
	}
	if len(expect.Content) == 2 && expect.Content[0].Value == "snapshot" {
		return text("snapshot")
	}
	return expect
}

// onlyText reports whether all content of a result is text.
func onlyText(object map[string]any) bool {
	blocks, _ := object["content"].([]any)
	return len(blocks) > 0 && !slices.ContainsFunc(blocks, func(block any) bool { kind, _ := at(block, []string{"type"}); return kind != "text" })
}

func level(n recording.Message) any {
	params, err := decode(n.Params)
	if err != nil {
		return nil
	}
	value, _ := at(params, []string{"level"})
	return value
}

// replied returns the client's replies in an exchange, or nil if the server made no requests.
func replied(e *recording.Exchange) *yaml.Node {
	var elicit, sample, roots []any
	for _, q := range e.Asked {
		value, err := decode(q.Result)
		object, ok := value.(map[string]any)
		if err != nil || !ok {
			continue
		}
		switch q.Method {
		case "elicitation/create":
			if content, ok := object["content"]; ok && object["action"] == "accept" {
				elicit = append(elicit, map[string]any{"accept": content})
			} else {
				elicit = append(elicit, object["action"])
			}
		case "sampling/createMessage":
			sample = append(sample, object)
		case "roots/list":
			list, _ := object["roots"].([]any)
			for _, root := range list {
				uri, _ := at(root, []string{"uri"})
				roots = append(roots, uri)
			}
		}
	}
	m := mapping()
	for i, list := range [][]any{elicit, sample, roots} {
		if len(list) > 0 {
			m.Content = append(m.Content, text([]string{"elicit", "sample", "roots"}[i]), node(list))
		}
	}
	if len(m.Content) == 0 {
		return nil
	}
	return m
}

// mapping returns a YAML mapping of alternating names and values, in the given order.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i, v := range pairs {
		switch v := v.(type) {
		case *yaml.Node:
			n.Content = append(n.Content, v)
		default:
			if i%2 == 0 {
				n.Content = append(n.Content, text(v.(string)))
			} else {
				n.Content = append(n.Content, node(v))
			}
		}
	}
	return n
}

// decoded converts a Go value to a JSON value.
func decoded(v any) any {
	value, _ := decode(encode(v)) // cannot fail: encode returns valid JSON
	return value
}
