package host

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/model"
)

// Ledger tells what takes how much of the model's window, in estimated tokens,
// corrected by what the provider counted.
type Ledger struct {
	Window int          `json:"window"`
	Used   int          `json:"used"` // by the next request
	Parts  []LedgerPart `json:"parts"`
}

// LedgerPart is one thing that takes part of the window.
type LedgerPart struct {
	Kind   string `json:"kind"` // system, tools, summary, message, result
	Name   string `json:"name"` // the server, the tool with its call, the beginning of the text
	Tokens int    `json:"tokens"`
	// Deferred is what it would take more if its tools were not left to search.
	Deferred int `json:"deferred,omitempty"`
}

// Ledger tells what the next request would hold.
func (c *Conversation) Ledger() Ledger {
	r := newRun(c)
	r.choose()
	l := Ledger{Window: r.window()}
	l.add(c, LedgerPart{Kind: "system", Name: "system prompt", Tokens: model.EstimateTokens(len(r.system(c.instructions())))})
	l.tools(r)
	if messages, text := c.view.Summarized(); messages > 0 {
		l.add(c, LedgerPart{Kind: "summary", Name: fmt.Sprintf("%d messages", messages), Tokens: model.EstimateTokens(len(text))})
	}
	view := c.view.Seen()
	for i := range view {
		l.message(c, &view[i])
	}
	return l
}

func (l *Ledger) add(c *Conversation, p LedgerPart) {
	p.Tokens, p.Deferred = c.view.Corrected(p.Tokens), c.view.Corrected(p.Deferred)
	l.Used += p.Tokens
	l.Parts = append(l.Parts, p)
}

// tools adds a part for each server.
func (l *Ledger) tools(r *run) {
	sent := map[string]int{}
	own := 0
	for _, t := range r.tools() {
		sent[t.Name] = window.TokensOf([]model.Tool{t})
		if r.catalogue.byName[t.Name] == nil {
			own += window.TokensOf([]model.Tool{t})
		}
	}
	l.add(r.c, LedgerPart{Kind: "tools", Name: "junction", Tokens: own})
	at := map[string]*LedgerPart{}
	var order []*LedgerPart
	for _, t := range r.catalogue.tools {
		p := at[t.ref.Server]
		if p == nil {
			p = &LedgerPart{Kind: "tools", Name: t.ref.Server}
			at[t.ref.Server], order = p, append(order, p)
		}
		p.Tokens += sent[t.sent.Name]
		p.Deferred += t.tokens - sent[t.sent.Name]
	}
	for _, p := range order {
		l.add(r.c, *p)
	}
}

func (l *Ledger) message(c *Conversation, m *model.Message) {
	rest := 0
	name := string(m.Role)
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Result != nil {
			l.add(c, LedgerPart{Kind: "result", Name: p.Result.Name + " " + p.Result.CallID, Tokens: window.TokensOfParts(m.Parts[i : i+1])})
			continue
		}
		if strings.HasPrefix(p.Text, window.SummaryMark) {
			continue // has its own part
		}
		rest += window.TokensOfParts(m.Parts[i : i+1])
		if p.Text != "" && name == string(m.Role) {
			line, _, _ := strings.Cut(readable(p.Text), "\n")
			name += ": " + clipped(line, 60)
		}
	}
	if rest > 0 {
		l.add(c, LedgerPart{Kind: "message", Name: name, Tokens: rest + window.MessageTokens})
	}
}
