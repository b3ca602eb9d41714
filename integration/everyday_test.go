package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	stdio "github.com/junction-mcp/junction/mcp/command"
)

// What the thirty tasks may ask of a person.
const maxCardsPerWrite = 1.3

// everydayTime is how long one task may take on a machine with much else to do.
const everydayTime = time.Minute

// Everyday work with servers of other people asks a person seldom. Each task is the first
// that the person does with these servers, which they approved and did not trust.
func TestEverydayTasksAskSeldom(t *testing.T) {
	w := newEveryday(t)
	for _, answers := range []string{"exactly this call", "this tool", "everything of this server"} {
		t.Run("a person who allows "+answers, func(t *testing.T) {
			cards, tasks := map[taskKind]int{}, map[taskKind]int{}
			w.restore(t)
			for i, task := range everydayTasks {
				asked := w.run(t, i, task, answers)
				cards[task.kind] += len(asked)
				tasks[task.kind]++
				for _, card := range asked {
					t.Logf("%d %q: %s/%s: %s", i+1, task.question, card.Server, card.Tool, strings.Join(card.Reasons, " "))
					if claim := card.Annotations.ReadOnlyHint; task.kind == readsOne && claim != nil && *claim {
						t.Errorf("%q only reads one server, and asked about %s/%s, which says so", task.question, card.Server, card.Tool)
					}
				}
			}
			for _, kind := range []taskKind{readsOne, readsMore, writes} {
				t.Logf("%s: %d cards in %d tasks, %.2f each", kind, cards[kind], tasks[kind], float64(cards[kind])/float64(tasks[kind]))
			}
			if each := float64(cards[writes]) / float64(tasks[writes]); answers == "everything of this server" && each > maxCardsPerWrite {
				t.Errorf("%.2f cards for each task that writes, want at most %.1f", each, maxCardsPerWrite)
			}
		})
	}
}

// everyday is the eight servers, connected once, and what the tasks work on.
type everyday struct {
	dir, repo, page string
	servers         []host.Server
}

func newEveryday(t *testing.T) *everyday {
	servers := realServers(t)
	w := &everyday{page: pageServer(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for _, name := range []string{"filesystem", "memory", "git", "time", "playwright", "mysql", "commander", "thinking"} {
		i := slices.IndexFunc(servers, func(s realServer) bool { return s.name == name })
		argv := servers[i].argv(t)
		if name == "filesystem" {
			w.dir = argv[len(argv)-1]
		}
		c, err := mcp.Dial(ctx, stdio.New(argv[0], argv[1:]...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() { c.Close() })
		w.servers = append(w.servers, host.Server{Name: name, Handler: c, Origin: argv})
	}
	w.repo = filepath.Join(w.dir, "repo")
	return w
}

// restore writes what the tasks begin with.
func (w *everyday) restore(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "repo" {
			os.RemoveAll(filepath.Join(w.dir, e.Name()))
		}
	}
	for name, text := range map[string]string{
		"hello.txt":      "hello from a file\n",
		"trip.md":        "# Trip\n\nFrom 3 May to 9 May, as the log says.\nThe office in Tokyo opens at nine.\nThe budget is in budget.md.\n",
		"budget.md":      "# Budget\n\nTrains 300, beds 500.\n",
		"repo/readme.md": fmt.Sprintf("A program.\n\nIt says what it is for, since %d.\n", time.Now().UnixNano()),
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git, env := program(t, "git"), append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	for _, args := range [][]string{
		{"config", "user.name", "Ada"}, {"config", "user.email", "ada@example.com"}, {"add", "readme.md"},
		{"commit", "-q", "-m", "add a readme"}, {"checkout", "-q", "-B", "main"},
	} {
		run(t, env, append([]string{git, "-C", w.repo}, args...)...)
	}
	run(t, env, git, "-C", w.repo, "for-each-ref", "refs/heads/page")
	if err := os.RemoveAll(filepath.Join(w.repo, ".git", "refs", "heads", "page")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.repo, "readme.md"), []byte("A program that says what it is for.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run does one task as a person does who sees Junction for the first time, and returns
// what they were asked.
func (w *everyday) run(t *testing.T, i int, task everydayTask, answers string) []host.Card {
	t.Helper()
	fill := strings.NewReplacer("DIR", w.dir, "REPO", w.repo, "PAGE", w.page).Replace
	var turns []scripted.Turn
	for _, c := range task.calls {
		turns = append(turns, scripted.Call(c.tool, fill(c.arguments)))
	}
	turns = append(turns, scripted.Say("Done."))
	person := &everydayPerson{answers: answers}
	var failed []string
	h, err := host.New(host.Options{
		Model: scripted.New(turns...), Servers: w.servers, Person: person, Budget: host.Budget{Tools: -1, Window: 200_000},
		OnEvent: func(e host.Event) {
			if e.Returned != nil && e.Returned.IsError {
				failed = append(failed, fmt.Sprintf("%+v", *e.Returned))
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithTimeout(t.Context(), everydayTime)
	defer cancel()
	c := h.Conversation(nil)
	answer, err := c.Ask(ctx, host.Question{Text: fill(task.question)})
	if err != nil || answer.Text != "Done." || len(failed) > 0 {
		t.Errorf("task %d, %q: %q, %v; failed: %q", i+1, task.question, answer.Text, err, failed)
	}
	if calls := c.Totals().Calls; calls != len(task.calls) {
		t.Errorf("task %d, %q: %d calls of %d", i+1, task.question, calls, len(task.calls))
	}
	return person.cards
}

// everydayPerson approves everything and says yes to everything, with the rule of the card
// that begins with these words, the widest of them.
type everydayPerson struct {
	host.Person
	answers string
	cards   []host.Card
}

func (p *everydayPerson) Review(_ context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	return slices.Repeat([]host.ReviewAnswer{{Approve: true}}, len(reviews)), nil
}

func (p *everydayPerson) Consent(_ context.Context, card host.Card) (host.Verdict, error) {
	p.cards = append(p.cards, card)
	v := host.Verdict{Allow: true}
	for _, rule := range card.Always {
		if strings.HasPrefix(rule.Label, p.answers) {
			v.Rule = &rule.Rule
		}
	}
	return v, nil
}
