package host

import (
	"context"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// asked lists the tools about which the user was asked.
func (s *stage) asked() string {
	var tools []string
	for _, card := range s.desk.cards {
		tools = append(tools, card.Server+"/"+card.Tool)
	}
	return strings.Join(tools, " ")
}

// silent is a server that says of none of its tools whether it writes, but of the last.
func silent(name string, wrote *[]string) Server {
	s := mcp.NewServer(name, "1")
	for tool, claims := range map[string]*mcp.ToolAnnotations{"query": nil, "tables": {Title: "Tables"}, "drop": {ReadOnlyHint: new(false)}} {
		mcp.AddToolWith(s, mcp.Tool{Name: tool, Description: "Works on the database.", Annotations: claims}, func(_ context.Context, in words) (string, error) {
			*wrote = append(*wrote, tool+" "+in.Text)
			return "a row", nil
		})
	}
	return Server{Name: name, Handler: s, Origin: []string{"npx", name}}
}

// If a server does not declare what its tools do, the user can declare it during the review.
func TestToolsHeldToReadRunWithoutConsent(t *testing.T) {
	query, tables, drop := scripted.Call("db__query", `{"text":"SELECT 1"}`), scripted.Call("db__tables", `{}`), scripted.Call("db__drop", `{}`)
	done := scripted.Say("done")
	for _, test := range []struct {
		name  string
		reads bool
		turns []scripted.Turn
		want  string
	}{
		{"without a word they may write", false, []scripted.Turn{tables, query, done}, "db/tables db/query"},
		{"with one they only read", true, []scripted.Turn{tables, query, query, done}, ""},
		{"but not what says that it writes", true, []scripted.Turn{tables, drop, done}, "db/drop"},
		{"what they return steers no call that writes", true, []scripted.Turn{query, scripted.Call("files__write", `{"text":"x"}`), done}, "files/write"},
		{"what they are asked may carry nothing away", true, []scripted.Turn{scripted.Call("files__read", `{}`), query, done}, "db/query"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var did []string
			s := play(t, Options{Servers: []Server{silent("db", &did), stranger("files", "a file")}, Person: &desk{reads: test.reads}}, test.turns...)
			ask(t, s.Conversation(nil), "what do we sell?")
			if got := s.asked(); got != test.want {
				t.Errorf("asked about %s, want %s", got, test.want)
			}
			for _, card := range s.desk.cards {
				if want := test.reads && card.Tool == "query"; card.Reads != want {
					t.Errorf("the card of %s says that the person held it to read: %v", card.Tool, card.Reads)
				}
			}
			for _, e := range s.eventsOf(func(e Event) bool { return e.Reviewed != nil && e.Reviewed.Server == "db" }) {
				if want := map[bool]int{true: 2}[test.reads]; e.Reviewed.Reading != want {
					t.Errorf("learned that %d tools only read", e.Reviewed.Reading)
				}
			}
		})
	}
}

// The declaration covers only the definitions and the program that the user saw.
func TestHarmByAToolThatWasHeldToRead(t *testing.T) {
	query := scripted.Call("db__query", `{"text":"SELECT 1"}`)
	describe := func(s Server, description string) Server {
		s.Handler.(*mcp.Server).RemoveTool("query")
		mcp.AddToolWith(s.Handler.(*mcp.Server), mcp.Tool{Name: "query", Description: description}, func(context.Context, words) (string, error) { return "a row", nil })
		return s
	}
	for name, change := range map[string]func(Server) Server{
		"another definition": func(s Server) Server { return describe(s, "Works on the database, and cleans up.") },
		"another program":    func(s Server) Server { s.Origin = []string{"npx", "other"}; return s },
		"another address":    func(s Server) Server { s.Origin = []string{"https://db.example/"}; return s },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var did []string
			pins := new(guard.Pins)
			session := func(server Server, reads bool) *stage {
				s := play(t, Options{Servers: []Server{server}, Pins: pins, Person: &desk{reads: reads}}, query, scripted.Say("done"))
				ask(t, s.Conversation(nil), "what do we sell?")
				return s
			}
			if s := session(silent("db", &did), true); s.asked() != "" || len(s.desk.reviews) != 1 {
				t.Fatalf("at first: asked about %s after %d reviews", s.asked(), len(s.desk.reviews))
			}
			if s := session(silent("db", &did), false); s.asked() != "" || len(s.desk.reviews) != 0 {
				t.Fatalf("the same again: asked about %s after %d reviews", s.asked(), len(s.desk.reviews))
			}
			if s := session(change(silent("db", &did)), false); s.asked() != "db/query" || len(s.desk.reviews) != 1 {
				t.Errorf("then: asked about %s after %d reviews", s.asked(), len(s.desk.reviews))
			}
		})
	}
}
