package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// offering is a session with prompts and resources.
func offering() *scripted {
	return &scripted{
		servers: []host.ServerTools{{Server: "ev", State: host.StateConnected}},
		prompts: []host.PromptRef{{Server: "ev", Prompt: &mcp.Prompt{Name: "greet", Title: "A greeting", Arguments: []mcp.PromptArgument{
			{Name: "name", Description: "Whom", Required: true}, {Name: "tone"}}}}},
		found:  []host.ResourceRef{{Server: "ev", Resource: &mcp.Resource{URI: "demo://text", Name: "text", Title: "A text"}}},
		some:   []host.TemplateRef{{Server: "ev", Template: &mcp.ResourceTemplate{URITemplate: "file:///{+path}", Name: "files"}}},
		offers: map[string][]string{"ev name": {"Ada", "Ada Lovelace", "Grace"}, "ev path": {"etc/hosts", "etc/passwd"}},
	}
}

func TestSentInput(t *testing.T) {
	for _, test := range []struct{ name, keys, want string }{
		{"a line", "hello<enter>", "hello"},
		{"several lines", "a<alt+enter>b<ctrl+j>c<shift+enter>d<enter>", "a\nb\nc\nd"},
		{"a backslash before Enter", `a\<enter>b<enter>`, "a\nb"},
		{"edited", "helo<left>l<home>> <end>!<enter>", "> hello!"},
		{"a word deleted and brought back", "one two<ctrl+w><ctrl+y><ctrl+y><enter>", "one twotwo"},
		{"the last input again", "first<enter><up><enter>", "first"},
		{"what was being typed, after a look back", "first<enter>new<up><down><enter>", "new"},
		{"an earlier input, searched for", "alpha<enter>beta<enter><ctrl+r>alp<enter><enter>", "alpha"},
		{"nothing", "  <enter>x<enter>", "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			session := &scripted{}
			play(t, session, 80, 24, func(st *stage) {
				st.keys(test.keys)
				if !session.did("ask " + test.want) {
					t.Errorf("asked %q", session.calls)
				}
			})
		})
	}
}

func TestPastedTextKeepsItsLinesAndLosesItsControls(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		st.send(tea.PasteMsg{Content: "a\r\nb\x1b[31m\u202ec"})
		st.holds(`b[31m\u202ec`)
		st.keys("<enter>")
		if !session.did("ask a\nb[31m\u202ec") {
			t.Errorf("asked %q", session.calls)
		}
	})
}

func TestLeaving(t *testing.T) {
	for _, test := range []struct {
		name, keys string
		left       bool
	}{
		{"Ctrl+D", "<ctrl+d>", true},
		{"Ctrl+D deletes where there is something", "a<home><ctrl+d>", false},
		{"Ctrl+C once", "<ctrl+c>", false},
		{"Ctrl+C twice", "<ctrl+c><ctrl+c>", true},
		{"Ctrl+C clears the input first", "abc<ctrl+c><ctrl+c>", false},
		{"Ctrl+C closes a panel first", "<f1><ctrl+c>", false},
		{"another key in between", "<ctrl+c>x<ctrl+c>", false},
		{"a command", "/quit<enter>", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, &scripted{}, 80, 24, func(st *stage) {
				st.keys(test.keys)
				if st.left != test.left {
					t.Errorf("left: %v", st.left)
				}
			})
		})
	}
}

// Ctrl+D deletes, too: the press after the last character does not end what goes on.
func TestCtrlDLeavesAnAnswerOnlyWhenPressedTwice(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = slow(st)
		st.keys("one<enter>two<enter>a<home><ctrl+d><ctrl+d>")
		st.holds("Press Ctrl+D again to quit")
		if st.left || st.screen.run.cancelled {
			t.Fatal("it left")
		}
		st.wait(leaveTime)
		st.keys("<ctrl+d>")
		if st.left {
			t.Fatal("it left, though the first press was long ago")
		}
		st.keys("<ctrl+d>")
		if !st.left {
			t.Error("it did not leave")
		}
	})
}

func TestCtrlCCancelsTheRunAndThenLeaves(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		var cause error
		session.ask = func(ctx context.Context, _ host.Question) error {
			<-ctx.Done()
			time.Sleep(time.Second) // what is to be cleared up
			cause = ctx.Err()
			return cause
		}
		st.keys("x<enter>more<enter>/new<enter>")
		st.holds("the answer is still coming; Esc interrupts it")
		st.keys("<ctrl+c>")
		st.holds("cancelling")
		st.wait(2 * time.Second)
		if !errors.Is(cause, context.Canceled) || st.screen.run != nil || st.left {
			t.Errorf("the run ended with %v", cause)
		}
		st.printedText("cancelled")
		st.keys("<ctrl+c>y<enter><ctrl+c><ctrl+c>")
		if !st.left {
			t.Error("the second Ctrl+C does not leave")
		}
		st.wait(2 * time.Second)
	})
}

func TestAnErrorOfTheRunIsShown(t *testing.T) {
	session := &scripted{ask: func(context.Context, host.Question) error { return errScripted }}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("x<enter>")
		st.printedText("error: the provider is on holiday")
	})
}

func TestTheMenu(t *testing.T) {
	for _, test := range []struct{ name, keys, input, frame string }{
		{"commands", "/co", "/co", "▸ /context  what fills the context window\n  /compact  summarize old turns"},
		{"the selected one", "/co<down><tab>", "/compact ", ""},
		{"around the end", "/co<up><tab>", "/console ", ""},
		{"closed", "/co<esc>", "/co", ""},
		{"a prompt", "/gre<tab>", "/ev:greet ", "name=  (required) Whom"},
		{"an argument", "/gre<tab><tab>", "/ev:greet name=", "▸ Ada"},
		{"a value", "/gre<tab><tab>G<tab>", "/ev:greet name=Grace ", "tone="},
		{"a value with spaces", "/gre<tab><tab><down><tab>", `/ev:greet name="Ada Lovelace" `, "tone="},
		{"a command that goes without an argument", "/cop<tab><enter>", "", "❯ ask something"},
		{"what is done with a server", "/mcp r<tab>", "/mcp restart ", ""},
		{"a server", "/mcp off e<tab>", "/mcp off ev ", ""},
		{"a server that is shown again", "/review e<tab>", "/review ev ", ""},
		{"themes", "/theme l", "/theme l", "▸ light"},
		{"resources", "see @", "see @", "▸ @ev:demo://text      A text\n  @ev:file:///{+path}  files"},
		{"a resource", "see @text<tab>", "see @ev:demo://text ", ""},
		{"a template", "see @file<tab>etc/h<tab>", "see @ev:file:///etc/hosts ", ""},
		{"a command within a word", "/port<tab>", "/export ", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, offering(), 80, 24, func(st *stage) {
				st.keys(test.keys)
				if got := st.screen.input.Text(); got != test.input {
					t.Errorf("the input is %q", got)
				}
				st.holds(test.frame)
			})
		})
	}
}

func TestPromptsAndAttachments(t *testing.T) {
	for _, test := range []struct{ name, typed, hint, want string }{
		{"a prompt", "/ev:greet name=Ada tone='very kind'", "", "ev:greet name=Ada tone=very kind"},
		{"arguments in their order", "/ev:greet Ada", "", "ev:greet name=Ada"},
		{"an argument is missing", "/ev:greet tone=kind", "prompt greet needs name=…", ""},
		{"an argument too many", "/ev:greet a b c", `prompt greet has no place for "c"`, ""},
		{"an open quote", `/ev:greet "a`, `a quote " is open`, ""},
		{"no such command", "/nothing", "there is no command /nothing; /help lists them", ""},
		{"attachments", "compare @ev:demo://text, @ev:demo://text and (@ev:x://y)", "", "@ev:demo://text"},
		{"an open template", "@ev:file:///{+path}", "@ev:file:///{+path}: fill in the part in braces", ""},
		{"no server of this name", "write to a@b:c and @you:there", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			session := offering()
			var got *host.Question
			session.ask = func(_ context.Context, q host.Question) error { got = &q; return nil }
			play(t, session, 100, 24, func(st *stage) {
				st.screen.input.Set(test.typed)
				st.screen.submit()
				st.settle()
				if st.screen.hint != test.hint || (got == nil) != (test.hint != "") {
					t.Fatalf("hint %q, asked %v", st.screen.hint, got)
				}
				if got != nil && described(got) != test.want {
					t.Errorf("asked %s", described(got))
				}
			})
		})
	}
}

// described is the prompt and the attachments of a question.
func described(q *host.Question) string {
	var words []string
	if p := q.Prompt; p != nil {
		words = append(words, p.Server+":"+p.Name)
		for _, name := range []string{"name", "tone"} {
			if v, ok := p.Arguments[name]; ok {
				words = append(words, name+"="+v)
			}
		}
	}
	for _, a := range q.Attach {
		words = append(words, "@"+a.Server+":"+a.URI)
	}
	return strings.Join(words, " ")
}

func TestLongPastesDoNotFillTheHistory(t *testing.T) {
	h := newHistory(nil)
	long := strings.Repeat("x", maxHistoryLine+1)
	for _, line := range []string{"one", long, "two", "two", long + "y"} {
		h.add(line)
	}
	if len(h.lines) != 3 || h.lines[0] != "one" || h.lines[1] != "two" || h.lines[2] != long+"y" {
		t.Errorf("%d lines are kept", len(h.lines))
	}
}
