package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/guard"
)

// measure prints the results of the checks for the files in a folder.
func measure(out io.Writer, dir, tools string, ids bool, half int) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: no *.jsonl", dir)
	}
	fmt.Fprintf(out, "%-24s %-42s %5s %8s %8s %8s\n", "file", "style", "rows", "block", "warn", "flagged")
	for _, path := range files {
		rows, err := readRows(path, half)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		if len(rows) > 0 && rows[0].Before != nil {
			printPairs(out, name, rows)
			continue
		}
		var judged []judgement
		for _, r := range rows {
			judged = append(judged, judge(r, name))
		}
		printFile(out, name, judged, ids)
	}
	if tools == "" {
		return nil
	}
	return measureTools(out, tools, ids, half)
}

func printPairs(out io.Writer, name string, rows []row) {
	caught, falseAlarms := 0, 0
	for _, r := range rows {
		c, f := judgePair(r)
		if c {
			caught++
		}
		if f {
			falseAlarms++
		}
	}
	fmt.Fprintf(out, "%-24s %-42s %5d   caught %d, false alarms on reordered keys %d\n", name, "changed after approval", len(rows), caught, falseAlarms)
}

func printFile(out io.Writer, name string, judged []judgement, ids bool) {
	styles := map[string][]judgement{}
	for _, j := range judged {
		styles[j.style] = append(styles[j.style], j)
	}
	for _, style := range slices.Sorted(maps.Keys(styles)) {
		printShare(out, name, style, styles[style])
	}
	if len(styles) > 1 {
		printShare(out, name, "all", judged)
	}
	printTotals(out, name, judged)
	if !ids {
		return
	}
	for _, j := range judged {
		if j.wrong() {
			fmt.Fprintf(out, "    wrong: %s %s: wanted %s, got %s by %s\n", j.style, j.id, wanted(j), j.action(), strings.Join(j.rules, " "))
		}
	}
}

func wanted(j judgement) string {
	switch {
	case j.want != "":
		return j.want
	case j.bad:
		return "a flag"
	}
	return "pass"
}

func printShare(out io.Writer, name, style string, judged []judgement) {
	block, warn := 0, 0
	for _, j := range judged {
		switch j.severity {
		case guard.Block:
			block++
		case guard.Warn:
			warn++
		}
	}
	n := len(judged)
	fmt.Fprintf(out, "%-24s %-42s %5d %s %s %s\n", name, style, n, percent(block, n), percent(warn, n), percent(block+warn, n))
}

// printTotals prints recall and false positives for a file that has bad and good rows. It also
// prints how often the action was exactly the expected one.
func printTotals(out io.Writer, name string, judged []judgement) {
	bad, caught, good, falsely, exact, expected := 0, 0, 0, 0, 0, 0
	for _, j := range judged {
		switch {
		case j.bad && j.flagged():
			bad, caught = bad+1, caught+1
		case j.bad:
			bad++
		case j.flagged():
			good, falsely = good+1, falsely+1
		default:
			good++
		}
		if j.want != "" {
			expected++
			if j.want == j.action() {
				exact++
			}
		}
	}
	line := fmt.Sprintf("recall %d of %d, false positives %d of %d", caught, bad, falsely, good)
	if expected > 0 {
		line += fmt.Sprintf(", exact action %d of %d (%s)", exact, expected, strings.TrimSpace(percent(exact, expected)))
	}
	fmt.Fprintf(out, "%-24s %s\n", name, line)
}

func percent(n, of int) string {
	if of == 0 {
		return fmt.Sprintf("%8s", "-")
	}
	return fmt.Sprintf("%7.1f%%", 100*float64(n)/float64(of))
}

// measureTools checks real tools, all together in the catalogue of one host.
func measureTools(out io.Writer, path string, ids bool, half int) error {
	rows, err := readRows(path, half)
	if err != nil {
		return err
	}
	names := map[string][]string{}
	for _, r := range rows {
		names[r.Server] = append(names[r.Server], r.Name)
	}
	var catalogue guard.Catalogue
	for server, tools := range names {
		catalogue.Set(server, tools...)
	}
	flagged, blocked := 0, 0
	byRule, alike := map[string]int{}, map[guard.Severity]int{}
	start := time.Now()
	for _, r := range rows {
		found := catalogue.ScanDefinition(guard.Definition{Kind: guard.Tool, Server: r.Server, Name: r.Name, Description: r.Description, Schema: r.InputSchema})
		for _, rule := range ruleNames(found) {
			byRule[rule]++
		}
		if worst := guard.Worst(found); worst >= guard.Warn {
			flagged++
			if worst == guard.Block {
				blocked++
			}
			if ids {
				fmt.Fprintf(out, "    flagged: %s by %s\n", r.ID, strings.Join(ruleNames(found), " "))
			}
		}
	}
	took := time.Since(start)
	for _, r := range rows {
		alike[guard.Worst(catalogue.LookAlikes(r.Server, r.Name))]++
	}
	n := len(rows)
	fmt.Fprintf(out, "\nreal tools %d of %d servers: flagged %d (%s), of them block %d; %v for all\n", n, len(names), flagged, strings.TrimSpace(percent(flagged, n)), blocked, took.Round(time.Millisecond))
	for _, rule := range slices.Sorted(maps.Keys(byRule)) {
		fmt.Fprintf(out, "    %-40s %5d %s\n", rule, byRule[rule], percent(byRule[rule], n))
	}
	fmt.Fprintf(out, "    look-alikes of other servers' tools, shown at approval only: warn %d (%s), note %d (%s)\n",
		alike[guard.Warn], strings.TrimSpace(percent(alike[guard.Warn], n)), alike[guard.Note], strings.TrimSpace(percent(alike[guard.Note], n)))
	return nil
}
