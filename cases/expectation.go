package cases

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/junction-mcp/junction/internal/revision"
)

// expectation reads the expectation of a step. The scalar snapshot means {snapshot: true}.
func (r *stepReader) expectation(n *yaml.Node) error {
	e := &r.step.expect
	if n.Kind == yaml.ScalarNode && n.Value == "snapshot" {
		e.snapshot = true
		return nil
	}
	must := func(to **condition) func(*yaml.Node) error {
		return func(n *yaml.Node) error {
			*to = new(condition)
			return r.condition(*to)(n)
		}
	}
	return r.mapping(n, "expect", members{
		"result": must(&e.result), "text": must(&e.text), "structured": must(&e.structured), "meta": must(&e.meta),
		"isError": r.bool(&e.isError), "within": r.duration(&e.within), "snapshot": r.bool(&e.snapshot), "mask": r.masks(&e.mask),
		"error": func(n *yaml.Node) error {
			e.error = new(wantedError)
			return r.mapping(n, "error", members{"code": must(&e.error.code), "message": must(&e.error.message), "data": must(&e.error.data)})
		},
		"notifications": r.events(&e.notifications, kindProgress, kindLog, kindChanged, kindUpdated),
		"asked":         r.events(&e.asked, kindElicit, kindSample, kindRoots),
	})
}

// events returns a function that reads the messages that a server must send during a step. Each has
// a kind and a condition on its parameters.
func (r *stepReader) events(into *[]wantedEvent, kinds ...string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		return r.parser.list(n, func(entry *yaml.Node) error {
			var wanted []wantedEvent
			m := members{}
			for _, kind := range kinds {
				m[kind] = func(n *yaml.Node) error {
					e := wantedEvent{kind: kind}
					var err error
					if kind == kindChanged || kind == kindUpdated {
						err = r.string(&e.subject)(n)
					} else if n.ShortTag() != "!!null" {
						err = r.condition(&e.params)(n)
					}
					if kind == kindChanged && err == nil && revision.Changed(revision.ListChanged(e.subject)) == "" {
						var known []string
						for _, list := range revision.Changes() {
							known = append(known, list.Capability)
						}
						err = r.errorf(n, "changed: expected %s, got %q", strings.Join(known, ", "), e.subject)
					}
					if kind == kindUpdated && err == nil && placeholder.MatchString(e.subject) {
						err = r.errorf(n, "updated: expected a URI without placeholders, as the client subscribes before the first case")
					}
					wanted = append(wanted, e)
					return err
				}
			}
			if err := r.mapping(entry, "the event", m); err != nil {
				return err
			}
			if len(wanted) != 1 {
				return r.errorf(entry, "expected one member (%s)", names(m))
			}
			*into = append(*into, wanted[0])
			return nil
		})
	}
}
