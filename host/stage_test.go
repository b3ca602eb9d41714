package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// A desk is a Person that follows a script, and remembers what it was asked.
type desk struct {
	consent func(ApprovalCard) Verdict
	review  func(Review) bool
	reads   bool // tools that do not say so are held to only read
	elicit  func(Form) *mcp.ElicitResult
	sample  func(Sampling) bool

	mu        sync.Mutex
	cards     []ApprovalCard
	reviews   []Review
	reviewed  int // how often it was shown reviews
	forms     []Form
	samplings []Sampling
}

func (d *desk) Consent(_ context.Context, card ApprovalCard) (Verdict, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards = append(d.cards, card)
	if d.consent == nil {
		return Verdict{Allow: true}, nil
	}
	return d.consent(card), nil
}

func (d *desk) Review(_ context.Context, reviews []Review) ([]ReviewAnswer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reviewed++
	d.reviews = append(d.reviews, reviews...)
	var answers []ReviewAnswer
	for _, r := range reviews {
		answers = append(answers, ReviewAnswer{Approve: d.review == nil || d.review(r), Reads: d.reads})
	}
	return answers, nil
}

func (d *desk) Elicit(_ context.Context, f Form) (*mcp.ElicitResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forms = append(d.forms, f)
	if d.elicit == nil {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	return d.elicit(f), nil
}

func (d *desk) Sample(_ context.Context, s Sampling) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.samplings = append(d.samplings, s)
	return d.sample == nil || d.sample(s), nil
}

// A stage is a host with what it needs, and everything that happened on it.
type stage struct {
	*Host
	desk   *desk
	model  *scripted.Model
	mu     sync.Mutex
	events []Event
}

// play makes a host whose model follows a script.
func play(t *testing.T, o Options, turns ...scripted.Turn) *stage {
	t.Helper()
	s := &stage{desk: &desk{}, model: scripted.New(turns...)}
	if o.Model == nil {
		o.Model = s.model
	}
	if o.Person == nil {
		o.Person = s.desk
	} else if d, ok := o.Person.(*desk); ok {
		s.desk = d
	}
	o.OnEvent = func(e Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	s.Host = h
	return s
}

// notices are the texts of the notices of a kind.
func (s *stage) notices(kind string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for _, e := range s.events {
		if e.Notice != nil && e.Notice.Kind == kind {
			texts = append(texts, e.Notice.Text)
		}
	}
	return texts
}

// eventsOf are the events that f is true of.
func (s *stage) eventsOf(f func(Event) bool) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Event
	for _, e := range s.events {
		if f(e) {
			all = append(all, e)
		}
	}
	return all
}

// last is the last request to the model.
func (s *stage) last(t *testing.T) *model.Request {
	t.Helper()
	requests := s.model.Requests()
	if len(requests) == 0 {
		t.Fatal("the model was not asked")
	}
	return requests[len(requests)-1]
}

// results are the results at the end of the last request.
func (s *stage) results(t *testing.T) []*model.Result {
	t.Helper()
	messages := s.last(t).Messages
	var results []*model.Result
	for _, p := range messages[len(messages)-1].Parts {
		if p.Result != nil {
			results = append(results, p.Result)
		}
	}
	return results
}

// behind puts a server behind a gateway, to which dial connects it.
func behind(t *testing.T, s Server, dial func(context.Context) (*mcp.Client, error)) Options {
	t.Helper()
	g := gateway.New(gateway.Options{OneClient: true, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { g.Close() })
	err := g.Add(s.Name, gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) { return dial(ctx) }})
	if err != nil {
		t.Fatal(err)
	}
	s.Handler = nil
	return Options{Gateway: g, Servers: []Server{s}}
}

type pair struct{ A, B float64 }

var (
	readOnly = &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	writes   = &mcp.ToolAnnotations{ReadOnlyHint: new(false), OpenWorldHint: new(false)}
)

// calculator is a trusted server with a tool that only adds.
func calculator() Server {
	s := mcp.NewServer("calc", "1.0")
	mcp.AddToolWith(s, mcp.Tool{Name: "add", Description: "Add two numbers.", Annotations: readOnly}, func(_ context.Context, in pair) (string, error) { return fmt.Sprint(in.A + in.B), nil })
	mcp.AddToolWith(s, mcp.Tool{Name: "fail", Description: "Fail.", Annotations: readOnly}, func(context.Context, struct{}) (string, error) { return "", errors.New("the disk is full") })
	return Server{Name: "calc", Handler: s, Trusted: true}
}

func ask(t *testing.T, c *Conversation, text string) Answer {
	t.Helper()
	answer, err := c.Ask(t.Context(), Question{Text: text})
	if err != nil {
		t.Fatalf("ask %q: %v", text, err)
	}
	return answer
}
