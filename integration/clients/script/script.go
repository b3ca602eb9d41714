// Package script is the engine of the Go probing clients. It parses their flags, runs the steps,
// responds to requests of the server, and prints one line of JSON for each step. ../../README.md
// describes the flags, the steps and the lines.
package script

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Flags holds the flags of a probing client.
type Flags struct {
	Stdio    []string // command of the server, or nil
	HTTP     string   // URL of a Streamable HTTP endpoint, or ""
	SSE      string   // URL of an HTTP+SSE endpoint, or ""
	Revision string   // protocol revision to force, or ""
	Steps    []Step
	Answers  Answers
}

// Step is one step of a script.
type Step struct {
	Op        string         `json:"op"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
	Progress  bool           `json:"progress"`
	TimeoutMs int            `json:"timeoutMs"`
	AfterMs   int            `json:"afterMs"`
	Ms        int            `json:"ms"`
	URI       string         `json:"uri"`
	Level     string         `json:"level"`
	Method    string         `json:"method"`
	Count     int            `json:"count"`
	Ref       Ref            `json:"ref"`
	Argument  Argument       `json:"argument"`
	Steps     []Step         `json:"steps"`
}

// Ref is the subject of a completion.
type Ref struct {
	Type string `json:"type"`
	Name string `json:"name"`
	URI  string `json:"uri"`
}

// Argument is the argument to complete.
type Argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Answers holds the client's responses to requests of the server.
type Answers struct {
	Elicit *Elicit `json:"elicit"`
	Sample struct {
		Text string `json:"text"`
	} `json:"sample"`
	Roots []Root `json:"roots"`
}

// Elicit responds to every elicitation with Action. If the action is accept, the response has the
// fields of Content that the form has. A form with a field in Decline is declined.
type Elicit struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
	Decline []string       `json:"decline"`
}

// Root is one root of the client.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// ParseFlags parses os.Args.
func ParseFlags() (Flags, error) {
	flags := Flags{Steps: []Step{{Op: "list"}}}
	args := os.Args[1:]
	for len(args) > 0 {
		name := args[0]
		if name == "--stdio" {
			flags.Stdio = args[1:]
			return flags, nil
		}
		if len(args) < 2 {
			return flags, fmt.Errorf("flag %s needs a value", name)
		}
		value := args[1]
		args = args[2:]
		var err error
		switch name {
		case "--http":
			flags.HTTP = value
		case "--sse":
			flags.SSE = value
		case "--revision":
			flags.Revision = value
		case "--script":
			flags.Steps = nil
			err = json.Unmarshal([]byte(value), &flags.Steps)
		case "--answers":
			err = json.Unmarshal([]byte(value), &flags.Answers)
		default:
			err = fmt.Errorf("unknown flag")
		}
		if err != nil {
			return flags, fmt.Errorf("flag %s: %w", name, err)
		}
	}
	return flags, nil
}

// Event is one message from the server.
type Event struct {
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// Probe stores the messages of the server and responds to the server's requests. Its methods may be
// called concurrently.
type Probe struct {
	Answers Answers

	mu        sync.Mutex
	fresh     []Event // events since the last printed line
	unclaimed []Event // events that waitNotification has not taken yet
	changed   chan struct{}
}

// NewProbe returns a Probe that responds with answers.
func NewProbe(answers Answers) *Probe {
	return &Probe{Answers: answers, changed: make(chan struct{})}
}

// Event stores a message of the server.
func (p *Probe) Event(method string, params any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = append(p.fresh, Event{method, params})
	p.unclaimed = append(p.unclaimed, Event{method, params})
	close(p.changed)
	p.changed = make(chan struct{})
}

// Await takes one event with the method. It returns an error after the timeout.
func (p *Probe) Await(method string, timeout time.Duration) error {
	_, err := p.waitAll(method, 1, timeout)
	return err
}

// waitAll takes count events with the method, at least one, and returns their params.
func (p *Probe) waitAll(method string, count int, timeout time.Duration) ([]any, error) {
	deadline := time.After(timeout)
	var all []any
	for len(all) < max(count, 1) {
		params, err := p.wait(method, deadline)
		if err != nil {
			return nil, fmt.Errorf("%w %v, after %d", err, timeout, len(all))
		}
		all = append(all, params)
	}
	return all, nil
}

// wait takes the oldest event with the method and returns its params.
func (p *Probe) wait(method string, deadline <-chan time.Time) (any, error) {
	for {
		p.mu.Lock()
		for i, e := range p.unclaimed {
			if e.Method == method {
				p.unclaimed = append(p.unclaimed[:i], p.unclaimed[i+1:]...)
				p.mu.Unlock()
				return e.Params, nil
			}
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			return nil, fmt.Errorf("no %s within", method)
		}
	}
}

func (p *Probe) takeFresh() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := p.fresh
	p.fresh = nil
	if fresh == nil {
		fresh = []Event{}
	}
	return fresh
}

// Elicit returns the response to a form.
func (p *Probe) Elicit(message, mode string, schema any) (action string, content map[string]any) {
	p.Event("elicitation/create", map[string]any{"message": message, "mode": mode})
	answer := p.Answers.Elicit
	if answer == nil {
		return "decline", nil
	}
	fields := properties(schema)
	for _, f := range answer.Decline {
		if fields[f] {
			return "decline", nil
		}
	}
	if answer.Action != "accept" {
		return answer.Action, nil
	}
	content = map[string]any{}
	for f := range fields {
		if v, ok := answer.Content[f]; ok {
			content[f] = v
		}
	}
	return "accept", content
}

// properties returns the names of the properties of a schema, which may have any Go type.
func properties(schema any) map[string]bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if raw, err := json.Marshal(schema); err == nil {
		_ = json.Unmarshal(raw, &s) // a schema without properties has no fields
	}
	names := map[string]bool{}
	for name := range s.Properties {
		names[name] = true
	}
	return names
}

// Sample returns the fixed response of the model.
func (p *Probe) Sample(text string) string {
	p.Event("sampling/createMessage", map[string]any{"text": text})
	if p.Answers.Sample.Text == "" {
		return "canned"
	}
	return p.Answers.Sample.Text
}

// Roots returns the roots of the client.
func (p *Probe) Roots() []Root {
	p.Event("roots/list", map[string]any{})
	return p.Answers.Roots
}
