package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/policy"
)

// An auditLine is one line of the audit log about a call.
type auditLine struct {
	Kind      string          `json:"kind"`
	Call      string          `json:"call"`
	Method    string          `json:"method"`
	Name      string          `json:"name"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Principal string          `json:"principal"`
	Issuer    string          `json:"issuer"`
	Client    string          `json:"client"`
	Round     int             `json:"round"`
	Arguments json.RawMessage `json:"arguments"`
}

// input is the call as rules see it.
func (l *auditLine) input() policy.Input {
	client := l.Client
	if at := strings.LastIndexByte(client, '/'); at >= 0 {
		client = client[:at] // without its version
	}
	in := policy.Input{Method: l.Method, Server: l.Server, Arguments: l.Arguments, Client: client, Principal: policy.Principal{Subject: l.Principal, Issuer: l.Issuer}}
	switch l.Method {
	case "tools/call":
		in.Tool = cmp.Or(l.Tool, l.Name)
	case "resources/read":
		in.Resource = l.Name
	}
	return in
}

// A verdict is what becomes of some calls of one tool, and by which rule.
type verdict struct {
	Effect policy.Effect `json:"effect"`
	Server string        `json:"server,omitempty"`
	Tool   string        `json:"tool"`
	Rule   string        `json:"rule"`
	Calls  int           `json:"calls"`
}

// maxVerdicts is how many different outcomes of a log are kept.
const maxVerdicts = 10_000

// testOnLog says what the rules make of the calls in an audit log.
func (a *app) testOnLog(ctx context.Context, path, log string) error {
	book, err := a.rulebook(path)
	if err != nil {
		return err
	}
	folder, err := auditFolder(log)
	if err != nil {
		return err
	}
	counts := map[verdict]int{}
	for line, err := range audit.Read(folder, audit.Filter{Kind: audit.KindCall}) {
		if errors.Is(err, fs.ErrNotExist) {
			return &connectError{fmt.Errorf("%w; junction up --audit writes a log", err)}
		}
		if err != nil {
			return &connectError{err}
		}
		var l auditLine
		if schema.DecodeLoose(line, &l) != nil || l.Round > 0 || ctx.Err() != nil {
			continue // of a later round the first was a call
		}
		if len(l.Arguments) > 0 && l.Arguments[0] != '{' {
			l.Arguments = nil // too long to be kept
		}
		in := l.input()
		d := book.Decide(ctx, in)
		if in.Tool == "" && d.Default {
			d.Effect = policy.Allow // as in a gateway, where the default is for tools
		}
		v := verdict{Effect: d.Effect, Server: l.Server, Tool: cmp.Or(in.Tool, l.Name), Rule: d.Rule.String()}
		if counts[v] > 0 || len(counts) < maxVerdicts {
			counts[v]++
		}
	}
	return a.showVerdicts(counts)
}

func (a *app) showVerdicts(counts map[verdict]int) error {
	all := []verdict{}
	total := map[policy.Effect]int{}
	for v, n := range counts {
		v.Calls = n
		all = append(all, v)
		total[v.Effect] += n
	}
	order := []policy.Effect{policy.Deny, policy.Ask, policy.Allow}
	slices.SortFunc(all, func(a, b verdict) int {
		return cmp.Or(slices.Index(order, a.Effect)-slices.Index(order, b.Effect), b.Calls-a.Calls, strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool), strings.Compare(a.Rule, b.Rule))
	})
	if a.flags.json {
		return a.printObject(struct {
			Verdicts []verdict `json:"verdicts"`
		}{all})
	}
	var rows [][]string
	for _, v := range all {
		rows = append(rows, []string{string(v.Effect), plaintext.Count(v.Calls, "call"), plaintext.Line(strings.TrimPrefix(v.Server+"/"+v.Tool, "/"), 80), plaintext.Line(v.Rule, 120)})
	}
	_, err := fmt.Fprintf(a.out, "%s%d allowed, %d asked about, %d denied\n", terminal.Table(rows, 2, a.out.Width()), total[policy.Allow], total[policy.Ask], total[policy.Deny])
	return err
}
