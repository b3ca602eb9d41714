package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
)

// A judgement is the result for one row.
type judgement struct {
	style    string
	id       string
	bad      bool // whether the row should be flagged
	want     string
	severity guard.Severity
	rules    []string
}

func (j judgement) flagged() bool { return j.severity >= guard.Warn }

// wrong reports whether the judgment of a row is wrong: it is flagged but should not be, or it is
// not flagged but should be. It also reports true if the action differs from the expected one.
func (j judgement) wrong() bool { return j.flagged() != j.bad || j.want != "" && j.want != j.action() }

func (j judgement) action() string {
	if j.flagged() {
		return j.severity.String()
	}
	return "pass"
}

// judge judges a row that is not a pair of definitions.
func judge(r row, file string) judgement {
	j := judgement{style: r.style(), id: r.ID, bad: isBad(r, file), want: r.Expected}
	var found []guard.Finding
	var catalogue guard.Catalogue
	switch {
	case r.Message != nil:
		found = judgeMessage(r.Message)
	case r.Tool != nil:
		found = judgeTool(r)
	case r.Result != nil:
		var content any
		_ = json.Unmarshal(r.Result, &content) // the content may be any value, or missing
		found = scanAll(content, guard.InResult)
	default:
		found = catalogue.ScanDefinition(guard.Definition{Kind: guard.Tool, Server: r.Server, Name: r.Name, Description: r.Description, Schema: r.InputSchema})
	}
	j.severity, j.rules = guard.Worst(found), ruleNames(found)
	return j
}

// judgeTool judges a definition among its peers, in the same way as an approval of it.
func judgeTool(r row) []guard.Finding {
	var catalogue guard.Catalogue
	names := map[string][]string{r.Server: {r.Tool.Name}}
	for _, p := range r.Peers {
		names[p.Server] = append(names[p.Server], p.Tool.Name)
	}
	for server, tools := range names {
		catalogue.Set(server, tools...)
	}
	return append(catalogue.ScanDefinition(r.Tool.definition(r.Server)), catalogue.LookAlikes(r.Server, r.Tool.Name)...)
}

func isBad(r row, file string) bool {
	switch {
	case r.Expected != "":
		return r.Expected != "pass"
	case r.Label != "":
		return r.Label != "benign"
	case r.Message != nil:
		return false
	}
	return !strings.Contains(file, "benign")
}

// ruleNames returns the names of the rules that found something, each once.
func ruleNames(found []guard.Finding) []string {
	names := map[string]bool{}
	for _, f := range found {
		names[f.Rule+"/"+f.Severity.String()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// judgePair judges a row with a definition before and after a change. caught reports whether the
// change is found. falseAlarm reports whether the old definition with its members in another order
// counts as changed.
func judgePair(r row) (caught, falseAlarm bool) {
	var pins guard.Pins
	before, after := define(r, r.Before), define(r, r.After)
	if pins.Approve(before) != nil {
		return false, true
	}
	return pins.Check(after).State == guard.Changed, pins.Check(define(r, reorder(r.Before))).State != guard.Same
}

func define(r row, raw json.RawMessage) guard.Definition {
	var t tool
	if json.Unmarshal(raw, &t) != nil {
		return guard.Definition{}
	}
	return t.definition(r.Owner)
}

// reorder returns a value with the members of each object in reverse order and with white space
// between them.
func reorder(raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && object != nil {
		var out bytes.Buffer
		out.WriteString("{ ")
		for i, name := range slices.Backward(slices.Sorted(maps.Keys(object))) {
			quoted, _ := json.Marshal(name)
			out.Write(quoted)
			out.WriteString(" :\n")
			out.Write(reorder(object[name]))
			if i > 0 {
				out.WriteString(" , ")
			}
		}
		out.WriteString(" }")
		return out.Bytes()
	}
	var array []json.RawMessage
	if json.Unmarshal(raw, &array) == nil && array != nil {
		for i := range array {
			array[i] = reorder(array[i])
		}
		out, _ := json.Marshal(array)
		return out
	}
	return raw
}
