// Command toolsearch measures how well package toolsearch finds tools. Its arguments name folders
// with sets of tools and queries. It reads nothing else, and includes no set.
//
//	go run ./toolsearch [-limit 10] [-tools 0] [-json] [-gateway] DIR...
//
// A folder has tools.jsonl and queries.jsonl, and may have servers.jsonl; one object a line:
//
//	tools.jsonl    id, server, name, description, input_schema
//	queries.jsonl  id, query, relevant (ids), groups (lists of ids), level
//	servers.jsonl  server, description
//
// For each set it prints the tokens of the texts, the times, and a row for each kind of query. The
// kinds are the levels if queries have them; "single" and "multi" if the ids are like a-s1 and
// a-m1; otherwise "all".
//
//	R@k     share of a query's groups that have a tool among the first k hits, as a mean over queries;
//	        without groups, every relevant tool is a group
//	nDCG@10 a hit that is the first one of a group gains 1, also if it is of several groups; the ideal
//	        is one hit for each group
//	weak    share of the queries with the weak hint; the only measure for level 5, and for
//	        "no tool" in sets without levels, whose queries have no relevant tool
//
// If at least 20 tools have eight or more single queries, there are rows "remembered k". In them,
// up to k queries of each tool are remembered and others are asked. Every tool has the same weight.
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

// report holds the measurements of a set. Shares are in percent, times in microseconds.
type report struct {
	Set     string `json:"set"`
	Tools   int    `json:"tools"`
	Servers int    `json:"servers"`

	AllTokens      int `json:"allTokens"`      // all definitions
	AlwaysTokens   int `json:"alwaysTokens"`   // definition of the search tool, and the overview
	SearchTokens   int `json:"searchTokens"`   // definitions of the first five hits in the form in which they are sent; mean
	UncutTokens    int `json:"uncutTokens"`    // the same definitions as servers wrote them; mean
	DefinitionsCut int `json:"definitionsCut"` // percent of the searches in which a hit was dropped to save tokens

	IndexMicros  int `json:"indexMicros"`  // time for all tools; shortest of several
	ChangeMicros int `json:"changeMicros"` // time for one changed tool of the largest server; shortest of several
	MeanMicros   int `json:"meanMicros"`   // time of one search
	P95Micros    int `json:"p95Micros"`

	Rows []row `json:"rows"`
}

// row holds the measurements of one kind of query.
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
