// Command toolsearch measures how well package toolsearch finds tools, on sets
// of tools and queries that its arguments name. Nothing else is read, and no set
// comes with it.
//
//	go run ./toolsearch [-limit 10] [-tools 0] [-json] [-gateway] DIR...
//
// A folder has tools.jsonl and queries.jsonl, and may have servers.jsonl; one object a line:
//
//	tools.jsonl    id, server, name, description, input_schema
//	queries.jsonl  id, query, relevant (ids), groups (lists of ids), level
//	servers.jsonl  server, description
//
// For each set it prints what the texts cost and how long things take, and a
// row for each kind of query: the levels, where queries have them; "single" and "multi" where
// their ids are like a-s1 and a-m1; else "all".
//
//	R@k     share of a query's groups with one of their tools among the first k hits, as a mean over
//	        queries; where there are no groups every relevant tool is one
//	nDCG@10 a hit that is the first of a group, or of several, gains 1; ideal is one hit for each group
//	weak    share of the queries for which the weak hint is on. Level 5 has no
//	        relevant tool, nor has "no tool" of sets without levels: only this counts there
//
// Where at least 20 tools have eight or more single queries there are rows "remembered k": up to k
// queries of each tool are remembered, others are asked, and every tool counts the same.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	limit := flag.Int("limit", 10, "how many hits are asked for where recall is measured")
	tools := flag.Int("tools", 0, "take only so many tools, and the queries that they can answer; 0 is all")
	asJSON := flag.Bool("json", false, "print one JSON object for each set")
	through := flag.Bool("gateway", false, "search through a gateway, as its clients do")
	flag.Parse()
	log.SetFlags(0)
	if flag.NArg() == 0 || *limit < 1 {
		flag.Usage()
		os.Exit(2)
	}
	for _, dir := range flag.Args() {
		s, err := readSet(dir, *tools)
		if err != nil {
			log.Fatal(err)
		}
		var r *report
		if *through {
			if r, err = s.throughGateway(); err != nil {
				log.Fatal(err)
			}
		} else {
			r = measure(s, *limit)
		}
		r.Set = filepath.Base(filepath.Clean(dir))
		switch {
		case *asJSON:
			err = json.NewEncoder(os.Stdout).Encode(r)
		case *through:
			err = r.printGateway()
		default:
			err = r.print()
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// report is what was measured of a set. Shares are in percent, times in microseconds.
type report struct {
	Set     string `json:"set"`
	Tools   int    `json:"tools"`
	Servers int    `json:"servers"`

	AllTokens      int `json:"allTokens"`      // all definitions
	AlwaysTokens   int `json:"alwaysTokens"`   // the definition of the search tool and the overview
	SearchTokens   int `json:"searchTokens"`   // mean of the definitions of the first five hits, as they are sent
	UncutTokens    int `json:"uncutTokens"`    // the same, as servers wrote them
	DefinitionsCut int `json:"definitionsCut"` // percent of searches of which a hit was dropped to fit

	IndexMicros  int `json:"indexMicros"`  // all tools; the quickest of several
	ChangeMicros int `json:"changeMicros"` // one changed tool of the largest server; the quickest
	MeanMicros   int `json:"meanMicros"`   // one search
	P95Micros    int `json:"p95Micros"`

	Rows []row `json:"rows"`
}

// row is what was measured of one kind of query.
type row struct {
	Kind    string  `json:"kind"`
	Queries int     `json:"queries"`
	R1      float64 `json:"r1"`
	R5      float64 `json:"r5"`
	R10     float64 `json:"r10"`
	NDCG    float64 `json:"ndcg10"`
	Weak    float64 `json:"weak"`
}

func (r *report) print() error {
	fmt.Printf("%s: %d tools of %d servers\n", r.Set, r.Tools, r.Servers)
	fmt.Printf("  tokens: all definitions %d; always loaded %d; a search (5 hits) %d, uncut %d, hits dropped in %d %% of searches\n", r.AllTokens, r.AlwaysTokens, r.SearchTokens, r.UncutTokens, r.DefinitionsCut)
	fmt.Printf("  time: index %.1f ms; one changed tool %.3f ms; search mean %.3f ms, p95 %.3f ms\n", ms(r.IndexMicros), ms(r.ChangeMicros), ms(r.MeanMicros), ms(r.P95Micros))
	return r.printRows()
}

func (r *report) printRows() error {
	fmt.Printf("  %-14s %7s %6s %6s %6s %8s %6s\n", "kind", "queries", "R@1", "R@5", "R@10", "nDCG@10", "weak")
	for _, w := range r.Rows {
		if w.Kind == impossible || w.Kind == noTool {
			fmt.Printf("  %-14s %7d %6s %6s %6s %8s %6.1f\n", w.Kind, w.Queries, "-", "-", "-", "-", w.Weak)
			continue
		}
		fmt.Printf("  %-14s %7d %6.1f %6.1f %6.1f %8.1f %6.1f\n", w.Kind, w.Queries, w.R1, w.R5, w.R10, w.NDCG, w.Weak)
	}
	_, err := fmt.Println()
	return err
}

func ms(micros int) float64 { return float64(micros) / 1000 }
