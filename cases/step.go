package cases

import (
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/junction-mcp/junction/internal/revision"
)

// A step is one request with its expectation.
type step struct {
	line   int
	title  string // for example, "tool add"
	method string
	params map[string]any
	list   string // member of the result that holds the entries of a list; empty for other requests
	expect expectation
	// capture lists the parts of the result that later steps use.
	capture []capture
}

// A capture stores a part of a result under a name.
type capture struct {
	name, pointer string
	parts         []string
	matches       string // regular expression; its first group is stored, or the whole match if it has no group; empty stores the whole value
}

// An expectation describes the expected outcome of a step. Nil and zero fields expect nothing.
type expectation struct {
	result, text, structured, meta *condition
	isError                        bool
	error                          *wantedError
	notifications, asked           []wantedEvent
	within                         time.Duration
	snapshot                       bool
	mask                           []mask
}

// A wantedError describes an expected protocol error.
type wantedError struct{ code, message, data *condition }

// A wantedEvent is a message that the server must send during the step.
type wantedEvent struct {
	kind    string
	subject string // changed list or URI
	params  condition
}

// The kinds of messages of servers.
const (
	kindProgress = "progress"
	kindLog      = "log"
	kindChanged  = "changed"
	kindUpdated  = "updated"
	kindElicit   = "elicit"
	kindSample   = "sample"
	kindRoots    = "roots"
)

// A stepReader reads the members of a step. A case with one step has these members itself.
type stepReader struct {
	*parser
	step      *step
	used      bool
	requests  int
	arguments *yaml.Node
	params    *yaml.Node
	captures  *yaml.Node
}

func (r *stepReader) members() members {
	use := func(read func(*yaml.Node) error) func(*yaml.Node) error {
		return func(n *yaml.Node) error { r.used = true; return read(n) }
	}
	keep := func(to **yaml.Node) func(*yaml.Node) error {
		return use(func(n *yaml.Node) error { *to = n; return nil })
	}
	request := func(title, method, member string) func(*yaml.Node) error {
		return use(func(n *yaml.Node) error {
			var subject string
			if err := r.string(&subject)(n); err != nil {
				return err
			}
			r.begin(title+" "+subject, method)
			if member == "" {
				r.step.title, r.step.method = subject, subject
				return nil
			}
			r.step.params[member] = subject
			return r.placeholders(n)
		})
	}
	return members{
		"tool": request("tool", "tools/call", "name"), "read": request("read", "resources/read", "uri"),
		"prompt": request("prompt", "prompts/get", "name"), "request": request("", "", ""),
		"list": use(r.list), "complete": use(r.complete),
		"arguments": keep(&r.arguments), "params": keep(&r.params), "capture": keep(&r.captures),
		"expect": use(r.expectation),
	}
}

func (r *stepReader) begin(title, method string) {
	r.requests++
	r.step.title, r.step.method, r.step.params = title, method, map[string]any{}
}

// finish checks and reads the members that depend on other members.
func (r *stepReader) finish(n *yaml.Node) error {
	s := r.step
	if r.requests != 1 {
		return r.errorf(n, "expected one of tool, read, prompt, list, complete and request, got %d", r.requests)
	}
	isTool := s.method == "tools/call" && s.params["name"] != nil
	for _, given := range []struct {
		node *yaml.Node
		name string
		fits bool
	}{{r.arguments, "arguments", isTool || s.params["name"] != nil}, {r.params, "params", s.title == s.method}} {
		if given.node == nil {
			continue
		}
		if !given.fits {
			return r.errorf(given.node, "%s does not go with this: arguments is for tool and prompt, params for request", given.name)
		}
		v, err := r.value(given.node)
		if err != nil {
			return err
		}
		object, ok := v.(map[string]any)
		if !ok {
			return r.errorf(given.node, "%s: expected a mapping", given.name)
		}
		if given.name == "params" {
			s.params = object
		} else {
			s.params[given.name] = object
		}
	}
	e := &s.expect
	switch isToolCall := s.method == "tools/call"; {
	case e.error != nil && (e.result != nil || e.text != nil || e.structured != nil || e.meta != nil || e.snapshot || e.isError || r.captures != nil):
		return r.errorf(n, "an error has no result: expect one of them")
	case !isToolCall && (e.structured != nil || e.isError):
		return r.errorf(n, "structured and isError are for results of tools")
	case e.text != nil && !isToolCall && s.method != "resources/read" && s.method != "prompts/get":
		return r.errorf(n, "text is for results of tool, read and prompt; use result")
	case r.captures == nil:
		return nil
	}
	return r.each(r.captures, "capture", r.capture)
}

// capture reads one entry of the member "capture".
func (r *stepReader) capture(key, n *yaml.Node) (err error) {
	c := capture{name: key.Value}
	if !placeholder.MatchString("{{"+c.name+"}}") || c.name == placeDir || c.name == placeHere {
		return r.errorf(key, "capture: %q is not a valid name: expected letters, digits and _, and neither %s nor %s", c.name, placeDir, placeHere)
	}
	from := n
	if n.Kind == yaml.MappingNode {
		from = nil
		err = r.mapping(n, "capture", members{
			"at": func(n *yaml.Node) error { from = n; return nil },
			"matches": func(n *yaml.Node) error {
				if _, err := regexp.Compile(n.Value); err != nil {
					return r.errorf(n, "%w", err)
				}
				c.matches = n.Value
				return nil
			},
		})
	}
	if err != nil {
		return err
	}
	if from == nil {
		return r.errorf(n, "capture: at is missing: a path in the result, such as /structuredContent/id")
	}
	c.pointer = from.Value
	if c.parts, err = r.pointer(from); err != nil {
		return err
	}
	r.step.capture, r.known[c.name] = append(r.step.capture, c), true
	return nil
}

func (r *stepReader) list(n *yaml.Node) error {
	var what string
	if err := r.string(&what)(n); err != nil {
		return err
	}
	var known []string
	for _, l := range revision.Lists() {
		if l.Core && l.Member == what {
			r.begin("list "+what, l.Name)
			r.step.list = what
			return nil
		}
		if l.Core {
			known = append(known, l.Member)
		}
	}
	return r.errorf(n, "list: expected %s, got %q", strings.Join(known, ", "), what)
}

// complete reads the member of a completion request.
func (r *stepReader) complete(n *yaml.Node) error {
	r.begin("complete", "completion/complete")
	ref, argument := map[string]any{}, map[string]any{}
	member := func(object map[string]any, name string) func(*yaml.Node) error {
		return func(n *yaml.Node) (err error) { object[name], err = r.scalar(n); return err }
	}
	err := r.mapping(n, "complete", members{
		"prompt":   func(n *yaml.Node) error { ref["type"] = "ref/prompt"; return member(ref, "name")(n) },
		"template": func(n *yaml.Node) error { ref["type"] = "ref/resource"; return member(ref, "uri")(n) },
		"argument": member(argument, "name"), "value": member(argument, "value"),
		"with": func(n *yaml.Node) error {
			v, err := r.value(n)
			r.step.params["context"] = map[string]any{"arguments": v}
			return err
		},
	})
	if err != nil {
		return err
	}
	if len(ref) != 2 || argument["name"] == nil || argument["value"] == nil {
		return r.errorf(n, "complete: expected one of prompt and template, and argument and value")
	}
	r.step.params["ref"], r.step.params["argument"] = ref, argument
	return nil
}
