package wiretest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/model"
)

// An outcome is the result of Generate, as text.
type outcome struct {
	response, deltas string
	got              *model.Response
	err              error
}

// recorded is the form of response.json.
type recorded struct {
	Message *model.Message   `json:"message,omitempty"`
	Stop    model.StopReason `json:"stop,omitempty"`
	Detail  string           `json:"stopDetail,omitempty"`
	Usage   *model.Usage     `json:"usage,omitempty"`
	Model   string           `json:"model,omitempty"`
	Notes   []model.Note     `json:"notes,omitempty"`
	Error   string           `json:"error,omitempty"`
	Is      []string         `json:"errorIs,omitempty"`
}

func generate(m model.Model, req *model.Request) outcome {
	var deltas []model.Delta
	res, err := m.Generate(context.Background(), req, func(d model.Delta) { deltas = append(deltas, d) })
	t := recorded{}
	if res != nil {
		t = recorded{Message: &res.Message, Stop: res.Stop, Detail: res.StopDetail, Usage: &res.Usage, Model: res.Model, Notes: res.Notes}
	}
	if err != nil {
		t.Error, t.Is = err.Error(), sentinels(err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if fault := encoder.Encode(t); fault != nil {
		return outcome{response: fault.Error(), err: fault}
	}
	return outcome{response: text.String(), deltas: lines(deltas), got: res, err: err}
}

func sentinels(err error) []string {
	var names []string
	for _, s := range []struct {
		name string
		err  error
	}{
		{"ErrUnauthorized", model.ErrUnauthorized}, {"ErrRateLimited", model.ErrRateLimited}, {"ErrOverloaded", model.ErrOverloaded},
		{"ErrWindow", model.ErrWindow}, {"ErrNoModel", model.ErrNoModel}, {"ErrBroken", model.ErrBroken}, {"ErrBadTool", model.ErrBadTool},
	} {
		if errors.Is(err, s.err) {
			names = append(names, s.name)
		}
	}
	return names
}

// lines formats deltas as lines of text; pieces of the same kind are joined.
func lines(deltas []model.Delta) string {
	var b strings.Builder
	for i := 0; i < len(deltas); {
		kind := kindOf(deltas[i])
		var id, name string
		var text strings.Builder
		for ; i < len(deltas) && kindOf(deltas[i]) == kind; i++ {
			d := deltas[i]
			text.WriteString(d.Text + d.Reasoning)
			if d.Call != nil {
				text.WriteString(d.Call.Arguments)
				id, name = id+d.Call.ID, name+d.Call.Name
			}
			if d.Retry != nil {
				fmt.Fprintf(&text, "attempt %d failed", d.Retry.Attempt)
			}
		}
		if deltas[i-1].Call != nil {
			kind = fmt.Sprintf("%s %s %s", kind, id, name)
		}
		fmt.Fprintf(&b, "%s %q\n", kind, text.String())
	}
	return b.String()
}

func kindOf(d model.Delta) string {
	switch {
	case d.Call != nil:
		return fmt.Sprintf("call %d", d.Call.Index)
	case d.Retry != nil:
		return "retry"
	case d.Reasoning != "":
		return "reasoning"
	}
	return "text"
}

// faults lists the reasons why a message cannot be kept and sent back.
func faults(m *model.Message) []string {
	var found []string
	if m.Role != model.RoleAssistant {
		found = append(found, fmt.Sprintf("its role is %q", m.Role))
	}
	ids := map[string]bool{}
	for i, p := range m.Parts {
		if n := fieldsSet(p); n != 1 {
			found = append(found, fmt.Sprintf("part %d has %d fields set", i, n))
		}
		c := p.Call
		if c == nil {
			continue
		}
		var object map[string]any
		if json.Unmarshal(c.Arguments, &object) != nil || object == nil {
			found = append(found, fmt.Sprintf("the arguments of call %d are %q", i, c.Arguments))
		}
		if c.ID == "" || ids[c.ID] {
			found = append(found, fmt.Sprintf("call %d has the id %q, which is empty or another's", i, c.ID))
		}
		if c.Name == "" {
			found = append(found, fmt.Sprintf("call %d has no name", i))
		}
		ids[c.ID] = true
	}
	if _, err := json.Marshal(m); err != nil {
		found = append(found, err.Error())
	}
	return found
}

func fieldsSet(p model.Part) int {
	n := 0
	for _, set := range []bool{p.Text != "", p.Media != nil, p.Reasoning != nil, p.Call != nil, p.Result != nil, p.Opaque != nil} {
		if set {
			n++
		}
	}
	return n
}
