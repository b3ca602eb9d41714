package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// output is what a program wrote; it can be waited for.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits for a text, for at most ten seconds: the program has its own clock.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	for range 1_000 {
		if strings.Contains(o.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%q does not come; there is\n%s", text, o.String())
}

// start runs a UI on a pipe.
func start(t *testing.T, session Session, env ...string) (keys *io.PipeWriter, out *output, ended chan error, ui *UI, cancel context.CancelFunc) {
	t.Helper()
	r, w := io.Pipe()
	out = &output{}
	ui, err := New(Options{In: r, Out: out, Env: env, Theme: "mono", Greeting: "Welcome."})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- ui.Run(ctx, session) }()
	t.Cleanup(func() { cancel(); w.Close() })
	return w, out, ended, ui, cancel
}

func TestARealProgramEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, _, ended, ui, cancel := start(t, &scripted{info: model.Info{Name: "m"}}, "TERM=xterm-256color")
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not end")
	}
	if _, err := ui.Consent(t.Context(), host.ApprovalCard{}); !errors.Is(err, errGone) {
		t.Errorf("who asks afterwards gets %v", err)
	}
	ui.Event(host.Event{}) // and returns
}

func TestADumbTerminalIsUsedLineByLine(t *testing.T) {
	t.Parallel()
	session := panels()
	session.info = model.Info{Name: "m", Language: true}
	keys, out, ended, ui, _ := start(t, session, "TERM=dumb")
	var verdict host.Verdict
	var form *mcp.ElicitResult
	session.ask = func(ctx context.Context, _ host.Question) (err error) {
		ui.Event(text("Let me *see*.\n\n"))
		if agreed, err := agreed(ui.Review(ctx, []host.Review{{Server: "crm", First: true}})); err != nil || !slices.Equal(agreed, []bool{true}) {
			return errors.Join(err, errors.New("it was not agreed to"))
		}
		if verdict, err = ui.Consent(ctx, writeCard()); err != nil {
			return err
		}
		form, err = ui.Elicit(ctx, host.Form{Server: "ev", Request: mcp.ElicitRequest{Message: "Who?", RequestedSchema: object(everyField)}})
		ui.Event(text("Done."))
		return err
	}
	say := func(await, line string) {
		out.await(t, await)
		if _, err := io.WriteString(keys, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say("Welcome.", "/mcp")
	say("about 1.5k tokens", "hello")
	say("New server “crm”", "y")
	say("may this call run?", "a")
	say("allow always: which calls?", "1")
	say("Who?", "Ada")
	for _, field := range [][2]string{
		{"age (", "x"}, {"✗", "36"}, {"mail (", ""}, {"size (", "tiny"}, {"one of these words", "Large"},
		{"colours (", "purple"}, {`"purple"`, "GREEN, 1"}, {"sure (", "yes"},
	} {
		say(field[0], field[1])
	}
	say("send this to ev?", "y")
	say("Done.", "/resume")
	say("number, words to find, or nothing:", "2")
	say("new conversation", "/quit")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !verdict.Allow || !verdict.Forever || verdict.Rule == nil || verdict.Rule.Effect != policy.Allow || verdict.Rule.When != "" {
		t.Errorf("the verdict is %+v", verdict)
	}
	if want := `{"name":"Ada","age":36,"mail":"a@b.example","size":"l","colours":["red","green"],"sure":true}`; form == nil || string(form.Content) != want {
		t.Errorf("the form is %+v", form)
	}
	if strings.Contains(out.String(), "\x1b") || !session.did("resume efgh") {
		t.Errorf("%q", out.String())
	}
}

// folder is a store of conversations in memory.
type folder struct{ kept map[string]*kept }

type kept struct {
	id      string
	entries []host.Entry
	fail    error
}

func (k *kept) Append(e host.Entry) error { k.entries = append(k.entries, e); return k.fail }
func (k *kept) Saved() Saved              { return Saved{ID: k.id, Questions: len(k.entries)} }

func (f *folder) New(context.Context) (Record, error) {
	k := &kept{id: string(rune('a' + len(f.kept)))}
	f.kept[k.id] = k
	return k, nil
}

func (f *folder) Open(_ context.Context, id string) (Record, []host.Entry, error) {
	if k := f.kept[id]; k != nil {
		return k, k.entries, nil
	}
	return nil, nil, errScripted
}

func (f *folder) Fork(_ context.Context, id string, entries int) (string, error) {
	r, _ := f.New(context.Background())
	k := r.(*kept)
	if entries == 0 {
		entries = len(f.kept[id].entries)
	}
	k.entries = append(k.entries, f.kept[id].entries[:entries]...)
	for _, e := range f.kept[id].entries[entries:] {
		if e.TakesBack() {
			k.entries = append(k.entries, e)
		}
	}
	return k.id, nil
}

func (f *folder) List(context.Context) ([]Saved, error) {
	var list []Saved
	for _, k := range f.kept {
		list = append(list, k.Saved())
	}
	return list, nil
}

func (f *folder) Export(_ context.Context, id, path string) (string, error) {
	return path, os.WriteFile(path, []byte(id), 0o600)
}

// parrot is a model that repeats what it is asked.
type parrot struct{}

func (parrot) Info() model.Info { return model.Info{Name: "parrot", Provider: "test", Window: 32_000} }

func (parrot) Generate(_ context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	said := req.Messages[len(req.Messages)-1].Text()
	if emit != nil {
		emit(model.Delta{Text: said})
	}
	return &model.Response{Message: model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: said}}}, Stop: model.StopEnd}, nil
}

func TestASessionOfAHost(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer("ev", "1.0.0")
	mcp.AddTool(server, "add", func(context.Context, struct{ A, B int }) (int, error) { return 0, nil })
	h, err := host.New(host.Options{Model: parrot{}, Servers: []host.Server{{Name: "ev", Handler: server, Trusted: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx := t.Context()
	if err := h.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	store := &folder{kept: map[string]*kept{}}
	s, err := Attach(ctx, h, store, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Talk().Ask(ctx, host.Question{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	before := len(s.Talk().Entries())
	if s.Model().Name != "parrot" || before < 2 || s.Talk().WindowUse().Used == 0 || s.Talk().Totals().Requests != 1 || len(s.Talk().Tools()) != 1 {
		t.Errorf("%v, %d entries, %+v, %+v, %v", s.Model(), before, s.Talk().WindowUse(), s.Talk().Totals(), s.Talk().Tools())
	}
	steps := []func() error{
		func() error { return s.Talk().Keep("a note") }, func() error { return s.Name(ctx, "a title") },
		func() error { return s.Fork(ctx) }, func() error { return s.New(ctx) }, func() error { return s.Resume(ctx, "a") },
		func() error { _, err := s.Export(ctx, filepath.Join(t.TempDir(), "x")); return err },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if list, err := s.List(ctx); len(list) != 3 || err != nil || s.Saved().ID != "a" || len(s.Talk().Entries()) != before+2 {
		t.Errorf("%v, %v, %v, %d entries", list, err, s.Saved(), len(s.Talk().Entries()))
	}
	if _, err := Attach(ctx, h, store, "zz"); !errors.Is(err, errScripted) {
		t.Errorf("an unknown conversation: %v", err)
	}
}

func TestWithoutAStoreNothingIsKept(t *testing.T) {
	t.Parallel()
	h, err := host.New(host.Options{Model: parrot{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s, err := Attach(t.Context(), h, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, listing := s.List(t.Context())
	_, exporting := s.Export(t.Context(), "x")
	for _, err := range []error{listing, exporting, s.Fork(t.Context()), s.Resume(t.Context(), "a"), s.Name(t.Context(), "x")} {
		if !errors.Is(err, ErrNotKept) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.New(t.Context()); err != nil || s.Saved() != (Saved{}) {
		t.Errorf("%v, %v", err, s.Saved())
	}
}
