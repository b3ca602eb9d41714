// Command hostcontext measures how many tokens tools take in the context of a model in package
// host. It connects all tools of a folder as servers in this process, and asks a model that only
// records requests.
//
//	go run ./hostcontext [-tools 527] [-queries 200] [-window 200000] DIR
//
// The folder has tools.jsonl and queries.jsonl in the form that package toolsearch of this module
// reads. For the first request it prints the tokens of the definitions that are sent, and of the
// system prompt's text about all other tools. For searches, each in its own conversation, it prints
// the tokens of the result and of the definitions that the search adds, as a mean and as the 95th
// percentile.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/model"
)

func main() {
	tools := flag.Int("tools", 527, "take only so many tools; 0 is all")
	queries := flag.Int("queries", 200, "make only so many searches; 0 is all")
	window := flag.Int("window", 200_000, "tokens that the model can see")
	flag.Parse()
	log.SetFlags(0)
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	s, err := readSet(flag.Arg(0), *tools, *queries)
	if err == nil {
		err = measure(context.Background(), s, *window)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// measure prints the measurements of a set.
func measure(ctx context.Context, s *set, window int) error {
	m := &listener{window: window}
	h, err := host.New(host.Options{Model: scripted.Always(scripted.Func(m.answer)).As(m.info()), Servers: s.servers})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Settle(ctx); err != nil {
		return err
	}
	if _, err := h.Conversation(nil).Ask(ctx, host.Question{Text: "hello"}); err != nil {
		return err
	}
	first := m.heard[0]
	all := 0
	for _, server := range h.Servers() {
		all += server.Tokens
	}
	plain, err := systemWithoutTools(ctx, m)
	if err != nil {
		return err
	}
	definitions, overview := tokensOf(first.Tools), model.EstimateTokens(len(first.System)-len(plain))
	fmt.Printf("%d tools of %d servers: %d tokens; %d more have no valid schema\n", s.tools, len(s.servers), all, s.refused)
	fmt.Printf("first request: %d tools sent, %d tokens; list of servers %d; tool text %d\n", len(first.Tools), definitions, overview, definitions+overview)
	var each []int
	for _, q := range s.queries {
		cost, err := m.search(ctx, h, q)
		if err != nil {
			return fmt.Errorf("query %q: %w", q, err)
		}
		each = append(each, cost)
	}
	slices.Sort(each)
	fmt.Printf("one search, of %d: mean %d tokens, p95 %d, largest %d\n", len(each), mean(each), percentile(each, 95), percentile(each, 100))
	return nil
}

// systemWithoutTools returns the system prompt of a host without servers.
func systemWithoutTools(ctx context.Context, m *listener) (string, error) {
	h, err := host.New(host.Options{Model: scripted.Always(scripted.Func(m.answer)).As(m.info())})
	if err != nil {
		return "", err
	}
	defer h.Close()
	m.heard = nil
	if _, err := h.Conversation(nil).Ask(ctx, host.Question{Text: "hello"}); err != nil {
		return "", err
	}
	return m.heard[0].System, nil
}

// A listener is a model that records its requests. It searches once if it has a query.
type listener struct {
	window int
	query  string
	heard  []*model.Request
}

func (m *listener) info() model.Info {
	return model.Info{Provider: "bench", Name: "listener", Window: m.window, Language: true}
}

func (m *listener) answer(req *model.Request) (*model.Response, error) {
	m.heard = append(m.heard, req)
	if m.query != "" && len(m.heard) == 1 {
		arguments, err := json.Marshal(map[string][]string{"queries": {m.query}})
		if err != nil {
			return nil, err
		}
		return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling("search_tools", string(arguments))}}}, nil
	}
	return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "done"}}}}, nil
}

// search makes one search in its own conversation. It returns the number of tokens that the search
// added to the next request, without the model's own text.
func (m *listener) search(ctx context.Context, h *host.Host, query string) (int, error) {
	m.query, m.heard = query, nil
	if _, err := h.Conversation(nil).Ask(ctx, host.Question{Text: query}); err != nil {
		return 0, err
	}
	if len(m.heard) != 2 {
		return 0, fmt.Errorf("%d requests came, want 2", len(m.heard))
	}
	before, after := m.heard[0], m.heard[1]
	result := after.Messages[len(after.Messages)-1].Parts[0].Result
	return model.EstimateTokens(len(result.Text())) + tokensOf(after.Tools) - tokensOf(before.Tools), nil
}

func tokensOf(tools []model.Tool) int {
	bytes := 0
	for _, t := range tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return model.EstimateTokens(bytes)
}

func mean(sorted []int) int {
	sum := 0
	for _, n := range sorted {
		sum += n
	}
	return sum / max(1, len(sorted))
}

func percentile(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
