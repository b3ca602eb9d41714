package integration

import (
	"context"
	"fmt"
	"maps"
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

// An everydayWay is how a person answers cards and reviews, and how many cards that makes of
// all tasks of a kind.
type everydayWay struct {
	name, rule string // the label of the rule that they take begins so
	question   bool   // it ends with the answer
	nightly    bool   // it is between the others
	silent     bool   // they leave it at what the servers say of their tools
	want       map[taskKind]int
}

// Who allows exactly a call is asked about each that writes, and who allows a tool about each of
// these: there are 22 in the tasks, of 20 tools. Less than that would be calls that nobody
// approved, so the limit is one for whoever allows what a server does for as long as they like.
var everydayWays = []everydayWay{
	{name: "exactly this call", rule: "exactly this call", want: map[taskKind]int{readsOne: 0, readsMore: 3, writes: 22}},
	{name: "this tool", rule: "this tool", nightly: true, want: map[taskKind]int{readsOne: 0, readsMore: 3, writes: 20}},
	{name: "this server, for this question", rule: "all tools of this server", question: true, nightly: true, want: map[taskKind]int{readsOne: 0, readsMore: 3, writes: 16}},
	{name: "all tools of this server", rule: "all tools of this server", want: map[taskKind]int{readsOne: 0, readsMore: 3, writes: 16}},
	{name: "exactly this call, and not said of the database", rule: "exactly this call", silent: true, nightly: true, want: map[taskKind]int{readsOne: 3, readsMore: 3, writes: 23}},
}

// Everyday work with servers of other people asks a person seldom. Each task is the first
// that the person does with these servers, which they approved and did not trust.
func TestEverydayTasksAskSeldom(t *testing.T) {
	t.Parallel()
	w := newEveryday(t)
	table := make([][]int, len(everydayTasks)) // cards by task and way
	for _, way := range everydayWays {
		t.Run("a person who allows "+way.name, func(t *testing.T) {
			if way.nightly {
				skipOnChange(t)
			}
			cards, tasks := map[taskKind]int{}, map[taskKind]int{}
			w.restore(t)
			for i, task := range everydayTasks {
				asked := w.run(t, i, task, way)
				table[i] = append(table[i], len(asked))
				cards[task.kind] += len(asked)
				tasks[task.kind]++
				for _, card := range asked {
					t.Logf("%d %q: %s/%s: %s", i+1, task.question, card.Server, card.Tool, strings.Join(card.Reasons, " "))
				}
			}
			for _, kind := range []taskKind{readsOne, readsMore, writes} {
				t.Logf("%s: %d cards in %d tasks, %.2f each", kind, cards[kind], tasks[kind], float64(cards[kind])/float64(tasks[kind]))
			}
			if !maps.Equal(cards, way.want) {
				t.Errorf("asked %v, want %v", cards, way.want)
			}
			if each := float64(cards[writes]) / float64(tasks[writes]); way.rule == "all tools of this server" && each > maxCardsPerWrite {
				t.Errorf("%.2f cards for each task that writes, want at most %.1f", each, maxCardsPerWrite)
			}
		})
	}
	for i, row := range table {
		t.Logf("%2d %-20s %v %s", i+1, everydayTasks[i].kind, row, everydayTasks[i].question)
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
func (w *everyday) run(t *testing.T, i int, task everydayTask, way everydayWay) []host.ApprovalCard {
	t.Helper()
	fill := strings.NewReplacer("DIR", w.dir, "REPO", w.repo, "PAGE", w.page).Replace
	var turns []scripted.Turn
	for _, c := range task.calls {
		turns = append(turns, scripted.Call(c.tool, fill(c.arguments)))
	}
	turns = append(turns, scripted.Say("Done."))
	person := &everydayPerson{way: way}
	var failed []string
	h, err := host.New(host.Options{
		Model: scripted.New(turns...), Servers: w.servers, Person: person, WindowShares: host.WindowShares{Tools: -1, Window: 200_000},
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
// that begins with these words, the widest of them. Of the database server, which says of none of
// its tools whether it writes, they know that all only read: its descriptions say so.
type everydayPerson struct {
	host.Person
	way   everydayWay
	cards []host.ApprovalCard
}

func (p *everydayPerson) Review(_ context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	answers := make([]host.ReviewAnswer, len(reviews))
	for i, r := range reviews {
		answers[i] = host.ReviewAnswer{Approve: true, Reads: r.Server == "mysql" && !p.way.silent}
	}
	return answers, nil
}

func (p *everydayPerson) Consent(_ context.Context, card host.ApprovalCard) (host.Verdict, error) {
	p.cards = append(p.cards, card)
	v := host.Verdict{Allow: true}
	for _, rule := range card.Always {
		if strings.HasPrefix(rule.Label, p.way.rule) {
			v.Rule, v.Question = &rule.Rule, p.way.question
		}
	}
	return v, nil
}
