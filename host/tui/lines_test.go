package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// lineByLine is what is printed when these lines are typed. Each is read when it is asked for.
func lineByLine(t *testing.T, session *scripted, with func(ui *UI, o *Options), lines ...string) string {
	t.Helper()
	var out strings.Builder
	ui, err := New(Options{In: strings.NewReader(strings.Join(lines, "\n") + "\n"), Out: &out, Env: []string{"TERM=xterm"}, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	if with != nil {
		with(ui, &ui.options)
	}
	if session.info.Name == "" {
		session.info = model.Info{Name: "test-model", Provider: "test", Language: true}
	}
	if err := ui.Run(t.Context(), session); err != nil {
		t.Errorf("at the end of the input: %v", err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("there are escape sequences: %q", out.String())
	}
	return out.String()
}

// manyModels are more than are listed at once.
type manyModels struct {
	choices
	list   []ModelChoice
	chosen string
}

func (m *manyModels) List(context.Context) ([]ModelChoice, error) { return m.list, nil }
func (m *manyModels) Choose(name string) error                    { m.chosen = name; return nil }
func (m *manyModels) SetEffort(string) error                      { return nil }

func TestCommandsLineByLine(t *testing.T) {
	session := panels()
	models := &manyModels{choices: choices{session: session}, list: []ModelChoice{{Name: "p:small"}, {Name: "p:large"}}}
	for i := range maxListed {
		models.list = append(models.list, ModelChoice{Name: fmt.Sprint("p:other", i)})
	}
	for _, test := range []struct {
		typed, want, never string
	}{
		{"/help", "/effort LEVEL", "/theme"},
		{"/theme dark", "/theme needs the screen: start without --plain", ""},
		{"/context", "so far: ", ""},
		{"/mcp", "about 1.5k tokens", ""},
		{"/copy", "no clipboard that can be reached here; /export writes a file", ""},
		{"/effort low", "From the next question on", ""},
		{"/model,large,1", "and 2 more", ""},
		{"/model,nowhere,2", "no entry has these words", ""},
		{"/tools", "── tools ", ""},
		{"/log", "── log ", ""},
		{"/keep", "expected /keep NOTE", ""},
		{"/compact", "old turns are replaced by a summary", ""},
		{"/new", "new conversation", ""},
		{"/crm:a/b", "there is no command /crm:a/b", ""},
		{"/none", "there is no command /none", ""},
	} {
		models.chosen = ""
		out := lineByLine(t, session, func(_ *UI, o *Options) { o.Models = models }, strings.Split(test.typed, ",")...)
		if !strings.Contains(out, test.want) || test.never != "" && strings.Contains(out, test.never) {
			t.Errorf("%s:\n%s", test.typed, out)
		}
		if strings.HasPrefix(test.typed, "/model") && models.chosen != "p:large" {
			t.Errorf("%s chose %q", test.typed, models.chosen)
		}
	}
}

func TestAPlanIsEditedLineByLine(t *testing.T) {
	session := planning(func(s *scripted, changed func(host.Plan)) error {
		for i := range s.Plan().Steps {
			s.mark(i, host.PlanBegun, "", changed)
			s.mark(i, host.PlanDone, "", changed)
		}
		return nil
	}, "Buy paint", "Paint", "Rest")
	out := lineByLine(t, session, nil, "/plan edit", "/plan a green wall", "/plan edit 2 Paint it green", "/plan edit 3", "/plan edit 9", "/plan edit + Clean up", "/plan do", "/plan drop", "/plan edit the docs")
	at := 0
	for _, want := range []string{
		"there is no plan;", "○ 1 Buy paint\n○ 2 Paint\n○ 3 Rest\n/plan do carries them out", "○ 2 Paint it green", "expected /plan edit with a step's number from 1 to 2",
		"○ 1 Buy paint\n○ 2 Paint it green\n○ 3 Clean up\n", "▸ step 1 of 3: Buy paint", "✓ step 3 of 3: Clean up", "The plan is done.", "the plan no longer exists",
	} {
		next := strings.Index(out[at:], want)
		if next < 0 {
			t.Fatalf("%q is not said, or not in its turn:\n%s", want, out)
		}
		at += next
	}
	if !session.did("propose edit the docs") {
		t.Error("a goal was taken for a step")
	}
}

func TestACardLineByLine(t *testing.T) {
	path, onDisk := aFile(t)
	card := host.ApprovalCard{CallID: "1", Server: "files", Tool: "write_file", CanTrust: true, Arguments: object(`{"path":` + quoted(path) + `,"content":"x\n"}`),
		Always: []host.AlwaysRule{{Label: "this", Rule: policy.Rule{Name: "this"}}}}
	for _, test := range []struct {
		typed string
		want  host.Verdict
		rule  bool
		said  string
	}{
		{"yes", host.Verdict{Allow: true}, false, "│ - ten\n│ + x\n"},
		{"x,,n", host.Verdict{}, false, "y yes, once · f yes to all of files, for this question · n no · m more…"},
		{"/model,use /tmp,2,?,Y", host.Verdict{Allow: true}, false, "that is not an answer; expected one of y, n, N, f, s, a, t, m, or n and"},
		{"more,y", host.Verdict{Allow: true}, false, "y yes, once · f all of this server, for this question · s this session…\na always… · n no · N no, with a note · t trust this server…\n"},
		{"n use /tmp", host.Verdict{Note: "use /tmp"}, false, ""},
		{"No: use /tmp", host.Verdict{Note: "use /tmp"}, false, ""},
		{"yes please,y", host.Verdict{Allow: true}, false, "that is not an answer"},
		{"a,9,1", host.Verdict{Allow: true, Forever: true}, true, "“9” is not a choice; expected a number from 1 to 1, or nothing to go back"},
		{"N,use /tmp", host.Verdict{Note: "use /tmp"}, false, "what should the model do instead?"},
		{"session,1", host.Verdict{Allow: true}, true, "Type a number, or Enter to go back"},
		{"a,,y", host.Verdict{Allow: true}, false, "allow always: which calls?"},
		{"question", host.Verdict{Allow: true, Question: true}, true, "Until this question is answered: allow files: this"},
		{"trust,2", host.Verdict{Allow: true, Trust: true, Forever: true}, false, "until when?"},
	} {
		var got host.Verdict
		session := &scripted{}
		out := lineByLine(t, session, func(ui *UI, _ *Options) {
			ui.onDisk = onDisk
			session.ask = func(ctx context.Context, _ host.Question) (err error) {
				got, err = ui.Consent(ctx, card)
				return err
			}
		}, append([]string{"go on"}, strings.Split(test.typed, ",")...)...)
		rule := got.Rule != nil
		if got.Rule = nil; got != test.want || rule != test.rule || !strings.Contains(out, test.said) || strings.Contains(out, "❯ go on") {
			t.Errorf("%s: %+v, rule %v\n%s", test.typed, got, rule, out)
		}
	}
}

func TestAReviewLineByLine(t *testing.T) {
	yes, no := host.ReviewAnswer{Approve: true}, host.ReviewAnswer{}
	for _, test := range []struct {
		typed string
		want  [2]host.ReviewAnswer // of the sixth and the last server
		said  string
	}{
		{"A,n,y", [2]host.ReviewAnswer{yes, yes}, "  memory  9 tools: 3 read, 6 write; memory-server 0.6.3\n    npx -y @modelcontextprotocol/server-memory\n"},
		{"N", [2]host.ReviewAnswer{no, no}, "A approve all 6 without warnings · N refuse all"},
		{"x,/model,9,N", [2]host.ReviewAnswer{no, no}, "that is not an answer; expected one of y, n, t, d, A"},
		{"8,d,,t,,y,N", [2]host.ReviewAnswer{no, yes}, "Enter goes back"},
	} {
		var got []host.ReviewAnswer
		session := &scripted{}
		out := lineByLine(t, session, func(ui *UI, _ *Options) {
			session.ask = func(ctx context.Context, _ host.Question) (err error) {
				got, err = ui.Review(ctx, eightServers())
				return err
			}
		}, append([]string{"go on"}, strings.Split(test.typed, ",")...)...)
		if len(got) != 8 || [2]host.ReviewAnswer{got[5], got[7]} != test.want || !strings.Contains(out, test.said) {
			t.Errorf("%s: %+v\n%s", test.typed, got, out)
		}
	}
}

// A list is not always as short as one digit can say.
func TestAnyServerCanBeChosenByItsNumber(t *testing.T) {
	var reviews []host.Review
	for n := range 12 {
		reviews = append(reviews, host.Review{Server: fmt.Sprint("s", n+1), First: true})
	}
	var out strings.Builder
	person := terminal.NewPerson(strings.NewReader("12\ny\nN\n"), terminal.NewScreen(&out))
	got, err := NewLines(person, nil).Review(t.Context(), reviews)
	if err != nil || len(got) != len(reviews) || slices.IndexFunc(got, func(a host.ReviewAnswer) bool { return a.Approve }) != 11 {
		t.Errorf("the twelfth was approved, and the answers are %+v, %v", got, err)
	}
}

// Where nothing can be scrolled, who says yes has been shown all of it.
func TestACardLineByLineShowsAllThatIsAgreedTo(t *testing.T) {
	long, last := strings.Repeat("\n", 12_000)+"the end", func(out string) bool { return strings.Contains(out, "the end") }
	for name, ask := range map[string]func(ctx context.Context, who *Lines) error{
		"a definition": func(ctx context.Context, who *Lines) error {
			_, err := who.Review(ctx, []host.Review{{Server: "s", Items: []host.ReviewItem{{Kind: "tool", Name: "x", Changed: true, Text: long}}}})
			return err
		},
		"what the model is asked": func(ctx context.Context, who *Lines) error {
			_, err := who.Sample(ctx, host.Sampling{Server: "s", Request: &mcp.CreateMessageRequest{SystemPrompt: long}})
			return err
		},
		"a page": func(ctx context.Context, who *Lines) error {
			_, err := who.Elicit(ctx, host.Form{Server: "s", Request: mcp.ElicitRequest{Mode: mcp.ElicitURL, Message: long, URL: "https://example.com/"}})
			return err
		},
	} {
		var out strings.Builder
		who := NewLines(terminal.NewPerson(strings.NewReader("y\n"), terminal.NewScreen(&out)), nil)
		if err := ask(t.Context(), who); err != nil || !last(out.String()) {
			t.Errorf("%s: %v, and of %d lines the last is not shown", name, err, strings.Count(out.String(), "\n"))
		}
	}
}

// Whoever cannot move a mark types a number, and sees which.
func TestChoicesHaveNumbersLineByLine(t *testing.T) {
	var out strings.Builder
	person := terminal.NewPerson(strings.NewReader("3\n1 2\ny\n"), terminal.NewScreen(&out))
	form := host.Form{Server: "s", Request: mcp.ElicitRequest{Message: "Which?", RequestedSchema: object(`{"type":"object","properties":{
		"colour":{"type":"string","enum":["r","g","b"],"enumNames":["Red","Green","Blue"]},"sizes":{"type":"array","items":{"type":"string","enum":["small","large"]}}}}`)}}
	got, err := NewLines(person, nil).Elicit(t.Context(), form)
	if err != nil || string(got.Content) != `{"colour":"b","sizes":["small","large"]}` {
		t.Errorf("the answer is %+v, %v", got, err)
	}
	for _, want := range []string{"1 ( ) Red", "3 ( ) Blue", "2 [ ] large"} {
		if shown := strings.ReplaceAll(out.String(), "\u00a0", " "); !strings.Contains(shown, want) {
			t.Errorf("there is no %q in\n%s", want, shown)
		}
	}
}

// The end of the input is an answer to nothing.
func TestTheInputEndsInACard(t *testing.T) {
	session := &scripted{}
	var failed error
	lineByLine(t, session, func(ui *UI, _ *Options) {
		session.ask = func(ctx context.Context, _ host.Question) (err error) {
			_, failed = ui.Consent(ctx, host.ApprovalCard{CallID: "1", Server: "files", Tool: "write_file"})
			return failed
		}
	}, "go on")
	if failed == nil || !errors.Is(failed, context.Canceled) && !errors.Is(failed, errGone) {
		t.Errorf("the call's card ends with %v", failed)
	}
}

func TestAPromptOfAServerIsSentLineByLine(t *testing.T) {
	session := &scripted{prompts: []host.PromptRef{{Server: "crm", Prompt: &mcp.Prompt{Name: "letter", Arguments: []mcp.PromptArgument{{Name: "to"}}}}}}
	var asked []host.Question
	session.ask = func(_ context.Context, q host.Question) error {
		asked = append(asked, q)
		return nil
	}
	out := lineByLine(t, session, nil, "/crm:letter to=Ada", "/crm:other")
	if len(asked) != 1 || asked[0].Prompt == nil || asked[0].Prompt.Server != "crm" || asked[0].Prompt.Name != "letter" || asked[0].Prompt.Arguments["to"] != "Ada" {
		t.Errorf("asked %+v\n%s", asked, out)
	}
	if !strings.Contains(out, "there is no command /crm:other") {
		t.Errorf("a prompt that is not there:\n%s", out)
	}
}

func TestPromptsOfAServerThatConnects(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "crm", State: host.StateConnecting}, {Server: "old", State: host.StateFailed}}}
	out := lineByLine(t, session, nil, "/crm:letter", "/old:letter")
	if !strings.Contains(out, "crm is still connecting") || !strings.Contains(out, "send /crm:letter") || !strings.Contains(out, "there is no command /old:letter") {
		t.Errorf("prompts that are not known yet:\n%s", out)
	}
}

func TestHelpListsPromptsByName(t *testing.T) {
	session := &scripted{prompts: []host.PromptRef{{Server: "crm", Prompt: &mcp.Prompt{Name: "letter", Description: "Writes a\nletter"}}}}
	out := lineByLine(t, session, nil, "/help")
	if !strings.Contains(out, "/crm:letter") || !strings.Contains(out, "Writes a letter") {
		t.Errorf("the help:\n%s", out)
	}
}

// A word that is no choice takes nothing away, and only a - empties a field.
func TestAnAnswerToAFieldIsTakenOrRefused(t *testing.T) {
	const schema = `{"properties":{"ok":{"type":"boolean","default":true},"size":{"enum":["S","M","Extra large"],"default":"M"},"many":{"type":"array","items":{"enum":["a","b"]},"default":["a"]},"day":{"type":"string","format":"date"}}}`
	for _, test := range []struct{ typed, want string }{
		{"no|||", `{"ok":false,"size":"M","many":["a"]}`},
		{"|extra LARGE||", `{"ok":true,"size":"Extra large","many":["a"]}`},
		{"|XXL||||", `{"ok":true,"size":"M","many":["a"]}`},
		{"-|-|b|-", `{"many":["b"]}`},
		{"|||not a day|-", `{"ok":true,"size":"M","many":["a"]}`},
		{"2|1|b,a|2026-01-31", `{"ok":false,"size":"S","many":["a","b"],"day":"2026-01-31"}`},
	} {
		t.Run(test.typed, func(t *testing.T) {
			session := &scripted{}
			var form *mcp.ElicitResult
			lines := append(append([]string{"go"}, strings.Split(test.typed, "|")...), "y")
			printed := lineByLine(t, session, func(ui *UI, _ *Options) {
				session.ask = func(ctx context.Context, _ host.Question) (err error) {
					form, err = ui.Elicit(ctx, host.Form{Server: "ev", Request: mcp.ElicitRequest{Message: "Which?", RequestedSchema: object(schema)}})
					return err
				}
			}, lines...)
			if form == nil || string(form.Content) != test.want {
				t.Errorf("got %+v\n%s", form, printed)
			}
			if n := strings.Count(printed, "Which?"); n != 1 {
				t.Errorf("what the server says is printed %d times", n)
			}
		})
	}
}

func TestAnAnswerCanBeInterruptedInLineMode(t *testing.T) {
	session := panels()
	var ui *UI
	session.ask = func(ctx context.Context, q host.Question) error {
		if q.Text == "again" {
			ui.Event(text("and on"))
			return nil
		}
		if !ui.Interrupt() {
			t.Error("nothing could be interrupted while the answer came")
		}
		if ui.Interrupt() {
			t.Error("a second interrupt was taken, too, in place of ending the program")
		}
		<-ctx.Done()
		return ctx.Err()
	}
	out := lineByLine(t, session, func(u *UI, _ *Options) { ui = u }, "wait", "again")
	if !strings.Contains(out, "and on") {
		t.Errorf("printed:\n%s", out)
	}
	if ui.Interrupt() {
		t.Error("between two questions an interrupt ends the program")
	}
}
